"""Private numbers as they come: typed, or in a file of text, JSON or Parquet."""
