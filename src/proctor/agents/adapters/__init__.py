"""Coding agents that others made, each declared in a file of its own: how it is installed, started and read."""
