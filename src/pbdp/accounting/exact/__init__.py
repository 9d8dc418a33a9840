"""Exact accounting over all neighbors, rounded to the safe side."""
