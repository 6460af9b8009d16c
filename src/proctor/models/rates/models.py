"""The table of rates. It is no tenant's: keys may be the installation's own, and their names are no secret."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Float, Table, Text

from proctor.database.schema import metadata

__all__ = ["rate_bucket"]

rate_bucket = Table(
    "rate_bucket",
    metadata,
    Column("owner", Text, primary_key=True, comment="whose key it is"),
    Column("provider", Text, primary_key=True),
    Column("key", Text, primary_key=True, comment="the name of the key, never its value"),
    Column("requests", Float, nullable=False, comment="that may still be made, at the time it was filled"),
    Column("tokens", Float, nullable=False),
    Column("filled_at", DateTime(timezone=True), nullable=False),
    Column("rests_until", DateTime(timezone=True), comment="its provider said that there was too much"),
)
