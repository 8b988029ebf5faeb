"""The front end: plain NumPy code in, IR out."""
