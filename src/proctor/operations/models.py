"""Tables of long work."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    SmallInteger,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import metadata

__all__ = ["operation"]

operation = Table(
    "operation",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("request", JSONB, nullable=False, comment="what was asked for, as the kind's own document"),
    Column("state", Text, nullable=False, server_default="queued"),
    Column("done", BigInteger, nullable=False, server_default="0"),
    Column("total", BigInteger, comment="NULL: not known"),
    Column("words", Text, nullable=False, server_default="", comment="what of; for a reader"),
    Column("result", JSONB),
    Column("error", JSONB, comment="{code, message, where, remedy}"),
    Column("actor", Uuid, comment="the user who asked"),
    Column("key_id", Uuid),
    Column("request_id", Text, nullable=False, server_default=""),
    Column("traceparent", Text, comment="the trace and the span that asked; NULL: none"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("started_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    Column("token", BigInteger, nullable=False, server_default="0", comment="of its last claim; later writes carry it"),
    Column("lease_until", DateTime(timezone=True)),
    Column("losses", SmallInteger, nullable=False, server_default="0", comment="processes that died with it"),
    Column("cancel_asked", Boolean, nullable=False, server_default=text("false")),
    Column("download", JSONB, comment="{key, sha256, size} of what it made"),
    Column("files_until", DateTime(timezone=True), comment="then its objects are removed; NULL: it has none, or works"),
    CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="state"),
    CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name="running_has_lease"),
    CheckConstraint("(state IN ('done', 'failed', 'cancelled')) = (ended_at IS NOT NULL)", name="ended"),
    Index(None, "tenant_id", "created_at", postgresql_where=text("state IN ('queued', 'running')")),
    Index(None, "files_until", postgresql_where=text("files_until IS NOT NULL")),
)
