"""Rematerialization: what is thrown away and made again, so that a program stays within a budget of bytes."""
