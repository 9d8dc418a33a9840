"""The paper's figures drawn again: what was claimed, what exact accounting finds, and how they differ."""
