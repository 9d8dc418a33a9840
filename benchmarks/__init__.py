"""Ours against what a user would pick instead: `make bench`."""
