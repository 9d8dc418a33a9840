"""Figures 2 and 3: epsilon against the width of the region and against the confidence."""
