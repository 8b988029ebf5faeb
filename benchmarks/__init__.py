"""Measurements: workloads, hand-written references, and the timing that compares them in one run."""
