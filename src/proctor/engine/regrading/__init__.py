"""Grading attempts again from their kept final states, after a verifier changed or to see whether it is stable."""
