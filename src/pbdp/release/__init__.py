"""From a true answer to the number that is published, and from that number back to what it says."""
