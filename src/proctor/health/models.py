"""Tables of health. Samples are of no tenant, and only the scheduler may touch them; who saw what is its tenant's."""

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

__all__ = ["acknowledgement", "health_sample"]


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
