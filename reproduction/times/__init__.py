"""Figure 4: the time of a draw, and what a rejection sampler gives away."""
