"""From a requirement to the noise with the least certified privacy loss."""
