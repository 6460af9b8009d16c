"""Alembic revisions, forward only; old code survives each (expand, then contract)."""
