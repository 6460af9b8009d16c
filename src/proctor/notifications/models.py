"""The outbox. Every package writes to it through named SQL, in the transaction of the change an event tells of."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Identity, Index, Table, Text, UniqueConstraint, Uuid, func, text
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import metadata

__all__ = ["event"]

event = Table(
    "event",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("seq", BigInteger, Identity(always=True), primary_key=True),
    Column("id", Uuid, nullable=False),
    Column("txid", BigInteger, nullable=False, server_default=text("pg_current_xact_id()::text::bigint")),
    Column("name", Text, nullable=False),
    Column("subject", Uuid, nullable=False),
    Column("trace_id", Text, nullable=False),
    Column("payload", JSONB, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("published_at", DateTime(timezone=True)),
    Column("position", BigInteger, comment="in the order of publication; NULL: not published yet"),
    UniqueConstraint("tenant_id", "id"),
    Index(None, "txid", "seq", postgresql_where=text("published_at IS NULL")),
    Index(None, "position", postgresql_where=text("position IS NOT NULL")),
    Index("ix_event_tenant_id_position", "tenant_id", "position", postgresql_where=text("position IS NOT NULL")),
)
