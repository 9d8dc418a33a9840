"""Exact accounting over all neighbours, rounded to the safe side."""
