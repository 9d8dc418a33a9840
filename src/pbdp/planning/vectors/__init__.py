"""Answers with several coordinates: the least certified epsilon for a vector near the truth as a whole."""
