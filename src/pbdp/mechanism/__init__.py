"""The boosted mechanism: a noise kernel whose mass outside the preferred region is scaled down."""
