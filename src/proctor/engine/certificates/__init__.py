"""Baseline certificates: that a task's verifier says yes to its solution, always, and no to everything else."""
