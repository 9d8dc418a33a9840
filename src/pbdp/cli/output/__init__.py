"""Published numbers as they leave: digits, tables, and files that are never half-written."""
