"""Tables of spending. The ledger itself, which attempts without calls of ours are in too, is the engine's."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import metadata

__all__ = ["budget_account", "budget_slice", "model_call"]


def _when(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


budget_account = Table(
    "budget_account",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("period", Text, primary_key=True, comment="a month of UTC such as 2026-12; empty: all time"),
    Column("spent_nano", BigInteger, nullable=False, comment="the sum of the ledger"),
    Column("held_nano", BigInteger, nullable=False, server_default="0", comment="the sum of the slices"),
    _when("opened_at"),
    CheckConstraint("kind IN ('tenant', 'user', 'run_set', 'profile', 'job')", name="kind"),
    CheckConstraint("spent_nano >= 0", name="spent"),
    CheckConstraint("held_nano >= 0", name="held"),
)

budget_slice = Table(
    "budget_slice",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("process", Uuid, nullable=False, comment="whose journal tells what became of it"),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", DateTime(timezone=True), nullable=False),
    Column("accounts", JSONB, nullable=False, comment="kind, key and period of each"),
    Column("amount_nano", BigInteger, nullable=False),
    _when("drawn_at"),
    CheckConstraint("amount_nano >= 0", name="amount"),
    Index(None, "tenant_id", "process"),
)

model_call = Table(
    "model_call",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("reservation", Uuid, nullable=False, comment="one call ends each"),
    Column("run_set_id", Uuid),
    Column("attempt_id", Uuid),
    Column("profile", Text, nullable=False),
    Column("user_id", Text, nullable=False, comment="as the payer named it; empty: this machine's own"),
    Column("purpose", Text, nullable=False),
    Column("wire", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("answered", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("ended_as", Text, nullable=False),
    Column("http_status", Integer),
    Column("code", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("first_byte_sec", Float),
    Column("input_tokens", BigInteger),
    Column("cache_read_tokens", BigInteger),
    Column("cache_write_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cost_nano", BigInteger, comment="NULL: not known"),
    Column("reserved_nano", BigInteger),
    Column(
        "charged_nano",
        BigInteger,
        comment="what the budgets count: the cost, or what was reserved where it is not known",
    ),
    Column("price_version", Text, nullable=False),
    Column("overrun", Boolean, nullable=False),
    _when("written_at"),
    UniqueConstraint("tenant_id", "reservation"),
    Index("ix_model_call_attempt", "tenant_id", "attempt_id", "id", postgresql_where=text("attempt_id IS NOT NULL")),
    Index("ix_model_call_run_set", "tenant_id", "run_set_id", "id", postgresql_where=text("run_set_id IS NOT NULL")),
    Index("ix_model_call_written", "written_at", postgresql_using="brin"),
)
