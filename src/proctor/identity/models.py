"""Tables of identity."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Table, Text, Uuid, func

from proctor.database.schema import metadata

__all__ = ["tenant"]

tenant = Table(
    "tenant",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
