"""What a tenant uses: now, as its quota counts it; and over a time, by run set, model or profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = ["By", "UsageRow", "Used", "usage", "used_now"]

_run = partial(run_query, "proctor.engine")


class By(StrEnum):
    """What usage is told apart by."""

    TENANT = "tenant"
    RUN_SET = "run_set"
    PROFILE = "profile"
    MODEL = "model"


@dataclass(frozen=True, kw_only=True)
class Used:
    """Of a tenant, now: attempts begun today (UTC), attempts running, and what this month (UTC) cost so far."""

    evaluations_today: int
    cost_month_nano: int
    sandboxes: int


@dataclass(frozen=True, kw_only=True)
class UsageRow:
    """Attempts begun in a time. ``key``: the run set's id, the model's or profile's name; empty: it has none."""

    key: str
    name: str
    attempts: int
    sandbox_sec: float
    """Wall seconds of attempts that ended."""
    cost_nano: int
    """What is known of it; of ``unpriced`` attempts it is not known, or not yet."""
    unpriced: int


def used_now(connection: Connection, tenant: UUID) -> Used:
    """As its quota counts it."""
    return Used(**_run(connection, "used_now", tenant=tenant).one()._mapping)


def usage(
    connection: Connection, tenant: UUID, by: By, *, since: datetime, until: datetime, limit: int = 1000
) -> Sequence[UsageRow]:
    """From ``since`` to before ``until``, the dearest first."""
    rows = _run(connection, f"usage_by_{by.value}", tenant=tenant, since=since, until=until, limit=limit)
    return [UsageRow(**row._mapping) for row in rows]
