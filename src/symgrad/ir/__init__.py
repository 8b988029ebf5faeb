"""The array IR: types, ops, text, verifier and interpreter."""
