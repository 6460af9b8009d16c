"""A run set whose attempts fail for what no provider, registry or node explains is paused, with the class counts."""

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
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import KIND, Decided
from proctor.kernel.ids import new_id
from proctor.queue import service as queue

__all__ = ["pause_troubled"]

_run = partial(run_query, "proctor.engine")


def pause_troubled(database: Database, tenant: UUID, written: Sequence[Decided]) -> list[RunSetRow]:
    """Look at the run sets of attempts that were recorded; those that it paused.

    Its own transaction: pausing waits for rows that other writers hold, and those may wait for nobody to claim.
    """
    blamed = [one for one in written if is_blamed(one)]
    return database.as_tenant(tenant, lambda connection: _pause_all(connection, tenant, blamed)) if blamed else []


def _pause_all(connection: Connection, tenant: UUID, blamed: Sequence[Decided]) -> list[RunSetRow]:
    troubled = troubled_run_sets(connection, tenant, KIND, blamed)
    rows = [_pause(connection, tenant, run_set, counts) for run_set, counts in troubled.items()]
    return [row for row in rows if row is not None]


def _pause(connection: Connection, tenant: UUID, run_set: UUID, counts: Mapping[str, int]) -> RunSetRow | None:
    row = reading.find_run_set(connection, tenant, str(run_set))
    if row.state != "running":
        return None
    queue.let_go(connection, tenant, KIND, run_set, drop=False)
    planning.set_state(connection, tenant, run_set, "paused", f"too many attempts failed: {told(counts)}")
    event = {"id": str(new_id()), "name": "run_set.paused", "subject": str(run_set), "trace_id": row.trace_id}
    _run(connection, "insert_events", tenant=tenant, rows=json.dumps([{**event, "payload": {"name": row.name}}]))
    return row
