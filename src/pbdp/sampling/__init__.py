"""Drawing from tables of integer weights with a cryptographic generator."""
