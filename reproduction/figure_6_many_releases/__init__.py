"""Figure 6: many releases of one mechanism."""
