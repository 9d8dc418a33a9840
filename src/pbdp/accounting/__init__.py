"""Privacy accounting: what a mechanism loses, exactly, and what several lose together, from both sides."""

# The share of delta that a budget keeps in reserve, unless told; the planner looks for noise that fits it.
RESERVE = 0.001
