"""Privacy accounting: what a mechanism loses, exactly, and what several lose together, from both sides."""
