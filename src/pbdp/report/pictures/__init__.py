"""Pictures, where people would rather look than read. Needs matplotlib (the `plot` extra)."""
