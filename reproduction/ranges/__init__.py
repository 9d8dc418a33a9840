"""Figure 5: a fixed range."""
