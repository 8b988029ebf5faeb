"""Packing: residuals lie in memory in a smaller type than the one that the program computes in."""
