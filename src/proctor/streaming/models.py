"""Tables of streams: what was sent already, and what was refused. The streams themselves are evaluation jobs."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    func,
)

from proctor.database.schema import metadata

__all__ = ["stream_key", "stream_refusal", "stream_tally"]

stream_key = Table(
    "stream_key",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("job_id", Uuid, primary_key=True),
    Column("key", LargeBinary, primary_key=True, comment="digest of what its sender calls it by"),
    Column("digest", LargeBinary, nullable=False, comment="of what was sent under it"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Index(None, "tenant_id", "created_at"),
)

stream_refusal = Table(
    "stream_refusal",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("job_id", Uuid, nullable=False),
    Column("row", Integer, nullable=False, comment="in what was sent at once, from 1"),
    Column("field", Text, nullable=False, comment="empty: the whole row"),
    Column("reason", Text, nullable=False),
    Column("said", Text, nullable=False, comment="how the row begins"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("row > 0", name="row"),
    Index(None, "tenant_id", "job_id", "id"),
)

stream_tally = Table(
    "stream_tally",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("job_id", Uuid, primary_key=True),
    Column("refused", BigInteger, nullable=False, comment="rows, those that are not listed too"),
    CheckConstraint("refused > 0", name="refused"),
)
