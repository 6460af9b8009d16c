"""Providers: where models are, on which wires, with which keys, and what each bears."""
