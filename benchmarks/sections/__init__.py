"""One file for each part of the page: `section(quick)` measures it."""
