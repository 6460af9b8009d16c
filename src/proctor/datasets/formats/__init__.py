"""Formats that datasets are read from: each yields rows by number, as mappings of names to values."""
