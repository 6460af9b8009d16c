"""Leaderboards and cells as tables, HTML and JSON."""
