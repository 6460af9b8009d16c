"""Results that others made: brought in with their evidence, never taken for our own, and linked only by known names."""
