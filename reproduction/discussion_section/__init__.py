"""What the paper's discussion section adds: regions from earlier outputs, and other kernels."""
