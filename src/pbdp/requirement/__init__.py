"""What the user asks for: the region a published number must fall in, and how often."""
