"""Evaluators that are the user's own code, which runs in a sandbox."""
