"""What is written: figures, tables, findings, and the page that holds them."""
