"""Run sets that are paused of themselves: attempts fail for what no provider, registry or node explains, with the class
counts; or a budget of all of it has no room for another call, and each further cell would start for nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.engine import planning, reading
from proctor.engine.blaming import is_blamed, troubled_run_sets
from proctor.engine.breakers import told
from proctor.engine.outcomes import OutcomeClass
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import KIND, Decided
from proctor.kernel.ids import new_id
from proctor.models.ports import ScopeKind
from proctor.queue import service as queue

__all__ = ["pause_spent", "pause_troubled"]

_run = partial(run_query, "proctor.engine")


_OF_ALL: Mapping[str, str] = {
    ScopeKind.RUN_SET: "budget.cost has no room for another call",
    ScopeKind.TENANT: "the tenant's budget of this month has no room for another call",
    ScopeKind.USER: "its user's budget of this month has no room for another call",
}
"""Budgets that all cells of a run set come under, and why it is paused; a profile's own stops that profile alone."""


def pause_spent(database: Database, tenant: UUID, written: Sequence[Decided]) -> list[RunSetRow]:
    """Pause the run sets of attempts that a budget of all of the run set ended; those that it paused."""
    reasons = {one.finished.assignment.run_set: reason for one in written if (reason := _spent(one)) is not None}
    if not reasons:
        return []

    def work(connection: Connection) -> list[RunSetRow]:
        rows = [_pause(connection, tenant, run_set, reason) for run_set, reason in reasons.items()]
        return [row for row in rows if row is not None]

    return database.as_tenant(tenant, work)


def _spent(decided: Decided) -> str | None:
    if decided.outcome.outcome is not OutcomeClass.BUDGET_EXHAUSTED:
        return None
    scopes = [str(item.detail.get("budget")) for item in decided.finished.evidence if "budget" in item.detail]
    return next((_OF_ALL[scope] for scope in scopes if scope in _OF_ALL), None)


def pause_troubled(database: Database, tenant: UUID, written: Sequence[Decided]) -> list[RunSetRow]:
    """Look at the run sets of attempts that were recorded; those that it paused.

    Its own transaction: pausing waits for rows that other writers hold, and those may wait for nobody to claim.
    """
    blamed = [one for one in written if is_blamed(one)]
    return database.as_tenant(tenant, lambda connection: _pause_all(connection, tenant, blamed)) if blamed else []


def _pause_all(connection: Connection, tenant: UUID, blamed: Sequence[Decided]) -> list[RunSetRow]:
    troubled = troubled_run_sets(connection, tenant, KIND, blamed)
    rows = [
        _pause(connection, tenant, run_set, f"too many attempts failed: {told(counts)}")
        for run_set, counts in troubled.items()
    ]
    return [row for row in rows if row is not None]


def _pause(connection: Connection, tenant: UUID, run_set: UUID, reason: str) -> RunSetRow | None:
    row = reading.find_run_set(connection, tenant, str(run_set))
    if row.state != "running":
        return None
    queue.let_go(connection, tenant, KIND, run_set, drop=False)
    planning.set_state(connection, tenant, run_set, "paused", reason)
    event = {"id": str(new_id()), "name": "run_set.paused", "subject": str(run_set), "trace_id": row.trace_id}
    _run(connection, "insert_events", tenant=tenant, rows=json.dumps([{**event, "payload": {"name": row.name}}]))
    return row
