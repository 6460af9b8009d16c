"""Faults on purpose: a plan in the run-set file, made at the ports where the real thing would happen."""
