"""What the commands say: one file for each kind of thing that is told of."""
