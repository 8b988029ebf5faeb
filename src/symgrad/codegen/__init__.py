"""From scheduled IR to generated modules: loop IR, targets, vector math."""
