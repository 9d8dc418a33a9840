"""Composition of several releases, with bounds from both sides."""
