"""The rewrite rules of `simplify`, one file a family; each rule's docstring is its equation."""
