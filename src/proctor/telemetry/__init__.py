"""Traces and structured logs: what happened, under which trace, for whom. Nothing here holds a secret or a person."""
