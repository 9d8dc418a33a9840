"""Noise tables of free form: every level of the table is chosen for the number of releases."""
