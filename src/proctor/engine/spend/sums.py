"""What was spent in a time: on what, day by day, without a verdict. Money is summed by the database, in whole nanos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = [
    "SpendBy",
    "SpendDay",
    "SpendRow",
    "SpendSum",
    "Times",
    "Undecided",
    "Unpriced",
    "spend",
    "spend_sum",
    "uncounted",
    "undecided",
]

_run = partial(run_query, "proctor.engine.spend")

SHOWN: int = 6
"""Keys that are told apart by day: more can't be told apart by eye."""
LISTED: int = 100
"""Keys, and models without a price, that are told of a time."""


class SpendBy(StrEnum):
    """What spend is told apart by."""

    TENANT = "tenant"
    RUN_SET = "run_set"
    PROFILE = "profile"
    PROVIDER = "provider"
    MODEL = "model"
    KIND = "kind"
    USER = "user"


class Times(NamedTuple):
    """From ``since`` to before ``until``."""

    since: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True)
class SpendSum:
    """Of entries: calls of models, and attempts none of whose calls came by us."""

    cost_nano: int
    """What is known of it: a lower bound where some are unpriced."""
    assumed_nano: int
    """What the budgets count for calls whose cost nobody knows: all that was reserved for them."""
    entries: int
    unpriced: int
    """Of these, entries whose cost nobody knows."""


@dataclass(frozen=True, kw_only=True)
class SpendRow(SpendSum):
    """Of one run set, profile, provider, model, kind, user or tenant. ``key`` is empty where it has none."""

    key: str
    name: str


@dataclass(frozen=True, kw_only=True)
class SpendDay(SpendSum):
    """Of a day of UTC and one of the dearest keys; without a key: of all others."""

    day: datetime
    key: str | None


@dataclass(frozen=True, kw_only=True)
class Unpriced:
    """A model of which entries have no known cost. Both names are empty where no model was named."""

    provider: str
    model: str
    entries: int


@dataclass(frozen=True, kw_only=True)
class Undecided(SpendSum):
    """On attempts that ended without a verdict, and whose that is."""

    owner: str
    attempts: int


class Spend(NamedTuple):
    """What was spent in a time."""

    whole: SpendSum
    rows: Sequence[SpendRow]
    days: Sequence[SpendDay]
    unpriced: Sequence[Unpriced]


def spend(connection: Connection, tenant: UUID, by: SpendBy, times: Times) -> Spend:
    """The dearest first, and the dearest of all day by day."""
    asked = {"tenant": tenant, **times._asdict()}
    rows = [dict(row._mapping) for row in _run(connection, "spent_by", by=by.value, limit=LISTED + 1, **asked)]
    found = [row for row in rows if not row.pop("whole")]
    names = _names(connection, tenant, by, [row["key"] for row in found])
    shown = [row["key"] for row in found[:SHOWN]]
    return Spend(
        whole=spend_sum(connection, tenant, times),
        rows=[SpendRow(**row, name=names.get(row["key"], row["key"])) for row in found],
        days=[SpendDay(**row._mapping) for row in _run(connection, "spent_days", by=by.value, keys=shown, **asked)],
        unpriced=[Unpriced(**row._mapping) for row in _run(connection, "spent_unpriced", limit=LISTED, **asked)],
    )


def spend_sum(connection: Connection, tenant: UUID, times: Times) -> SpendSum:
    """All that was spent in a time."""
    asked = {"by": SpendBy.TENANT.value, "tenant": tenant, **times._asdict(), "limit": 1}
    (row,) = (dict(row._mapping) for row in _run(connection, "spent_by", **asked))
    return SpendSum(**{one.name: row[one.name] for one in fields(SpendSum)})


def uncounted(connection: Connection, tenant: UUID) -> int:
    """Entries of this month (UTC) whose cost nobody knows, and for which the budgets count nothing."""
    return int(_run(connection, "uncounted", tenant=tenant).scalar_one())


def undecided(connection: Connection, tenant: UUID, times: Times) -> Sequence[Undecided]:
    """What attempts cost that ended without a verdict, the dearest owner first."""
    return [Undecided(**row._mapping) for row in _run(connection, "spent_undecided", tenant=tenant, **times._asdict())]


def _names(connection: Connection, tenant: UUID, by: SpendBy, keys: Sequence[str]) -> Mapping[str, str]:
    if by is not SpendBy.RUN_SET:
        return {}
    return {row.key: row.name for row in _run(connection, "run_set_names", tenant=tenant, keys=list(keys))}
