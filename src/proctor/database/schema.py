"""The one table registry. Each package defines its tables in its ``models.py`` against this metadata."""

from __future__ import annotations

from sqlalchemy import MetaData

__all__ = ["SCHEMA", "metadata"]

SCHEMA: str = "proctor"
"""The PostgreSQL schema that holds every table; named explicitly, never left to a search path."""

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    },
)
