"""Metrics: evaluators that compare an output with what was expected, on this machine and without a model."""
