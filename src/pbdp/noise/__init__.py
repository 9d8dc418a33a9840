"""Noise kernels, one family a file."""
