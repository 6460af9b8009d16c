"""Tables of health. Samples and backups are of no tenant, and only the scheduler may touch them; who saw what is its
tenant's."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Table,
    Text,
    Uuid,
    func,
)

from proctor.database.schema import SCHEMA, metadata

__all__ = ["acknowledgement", "backup", "health_sample"]


def _oldest(band: str, comment: str | None = None) -> Column[float]:
    return Column(f"oldest_{band}", Float, nullable=False, comment=comment)


health_sample = Table(
    "health_sample",
    metadata,
    Column("at", DateTime(timezone=True), primary_key=True, comment="the minute"),
    _oldest("critical", "seconds since the first ready row of that band is ready; 0: none"),
    _oldest("high"),
    _oldest("normal"),
    _oldest("low"),
    *(Column(state, BigInteger, nullable=False) for state in ("pending", "waiting", "claimed", "paused", "dead")),
    Column("sandboxes", BigInteger, nullable=False),
    Column("infrastructure", Float, comment="its share of the attempts that ended lately; NULL: none did"),
    Column("provider", Float, comment="providers' share of the same"),
    Column("relay_lag", Float, nullable=False, comment="seconds since the first event that is not published"),
    Column("ended", BigInteger, comment="attempts that ended lately; NULL: from before it was kept"),
    Column(
        "since",
        DateTime(timezone=True),
        comment="from which minute on it counts for itself, each attempt once; NULL: from before it was kept",
    ),
    Column("ended_since", BigInteger, comment="attempts that ended since then, before this minute"),
    Column("lost_since", BigInteger, comment="of these, those that nobody but the installation failed"),
)

backup = Table(
    "backup",
    metadata,
    Column("digest", Text, primary_key=True, comment="sha256 of its manifest as it was written"),
    Column("made_at", DateTime(timezone=True), nullable=False, comment="as its manifest says"),
    Column("bytes", BigInteger, nullable=False, comment="of the dump, and of the objects where it holds them"),
    Column("host", Text, nullable=False, comment="the machine it was written on"),
    Column("folder", Text, nullable=False, comment="and where there"),
    Column("recorded_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column(
        "verified_at",
        DateTime(timezone=True),
        comment="when it was last restored and found whole; NULL: never, or it was not",
    ),
    CheckConstraint("digest ~ '^[0-9a-f]{64}$'", name="digest"),
    CheckConstraint("bytes >= 0", name="bytes"),
)

acknowledgement = Table(
    "acknowledgement",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("alert", Text, primary_key=True, comment="what needs somebody, by a key without figures"),
    Column("user_id", Uuid, nullable=False, comment="who has seen it"),
    Column("note", Text, nullable=False, server_default=""),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("until", DateTime(timezone=True), nullable=False),
    CheckConstraint("until > created_at", name="until"),
    ForeignKeyConstraint(["tenant_id", "user_id"], [f"{SCHEMA}.tenant_user.tenant_id", f"{SCHEMA}.tenant_user.id"]),
)
