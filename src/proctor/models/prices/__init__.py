"""What models cost: a versioned file, and what the operator adds to it."""
