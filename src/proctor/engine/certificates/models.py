"""Tables of trust: certificates, repeated verdicts and quarantine. Rows are only ever added."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, DateTime, Index, Table, Text, Uuid, func
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import metadata

__all__ = ["certificate", "flake", "quarantine"]


def _tenant() -> Column[object]:
    return Column("tenant_id", Uuid, primary_key=True)


def _at(name: str) -> Column[object]:
    """Clock time, not the transaction's: two rows of one transaction have an order."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp())


certificate = Table(
    "certificate",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("agent_digest", Text, nullable=False),
    Column("verifier_digest", Text, nullable=False),
    Column("content_digest", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column(
        "environment",
        JSONB,
        nullable=False,
        comment="identity: os-release and the versions of the tools that the task needs",
    ),
    Column(
        "checks",
        Text,
        nullable=False,
        comment="digest of the forgeries that were tried",
    ),
    Column("verdict", Text, nullable=False),
    Column("problems", JSONB, nullable=False, comment="why it is refused or not decided, one line each"),
    Column(
        "snapshot",
        Boolean,
        comment="of a live task: whether its oracle passes in snapshot; NULL: not live, or not known",
    ),
    Column("runs", JSONB, nullable=False, comment="[{solution, class, rule, verdict, seconds, evidence}]"),
    Column("made_by", Text, nullable=False),
    _at("made_at"),
    CheckConstraint("verdict IN ('certified', 'refused', 'not_decided')", name="verdict"),
    Index("ix_certificate_latest", "tenant_id", "agent_digest", "verifier_digest", "backend", "made_at"),
)

flake = Table(
    "flake",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("agent_digest", Text, nullable=False),
    Column("verifier_digest", Text, nullable=False),
    Column("content_digest", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="the certificate's id, or the attempt's that was graded again"),
    Column("solution", Text, nullable=False),
    Column("verdict", Boolean, comment="NULL: the verifier gave none"),
    _at("at"),
    CheckConstraint("source IN ('certificate', 'grading')", name="source"),
    Index("ix_flake_task", "tenant_id", "agent_digest", "verifier_digest", "at"),
)

quarantine = Table(
    "quarantine",
    metadata,
    _tenant(),
    Column("agent_digest", Text, primary_key=True),
    Column("verifier_digest", Text, primary_key=True),
    Column(
        "at",
        DateTime(timezone=True),
        primary_key=True,
        server_default=func.clock_timestamp(),
        comment="until the next row of the same task",
    ),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("source", Text, nullable=False, comment="what said so, such as certificate and its id"),
    CheckConstraint("state IN ('quarantined', 'released')", name="state"),
)
