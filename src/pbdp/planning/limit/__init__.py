"""What no noise can do better: proved lower limits for epsilon, and the noise law that reaches them."""
