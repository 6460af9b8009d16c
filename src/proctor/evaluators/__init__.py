"""Evaluators: what gives an output its score, and the registry of their versions."""
