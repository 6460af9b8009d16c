"""Evaluation jobs: a dataset version, the outputs to judge, evaluators; cut into chunks, done once, whoever dies."""
