"""Table of health. Its rows are of no tenant, and only the scheduler may touch them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Float, Table

from proctor.database.schema import metadata

__all__ = ["health_sample"]


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
)
