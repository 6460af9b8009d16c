"""What a run set needs beside workers: its budget is looked at, and once nothing of it is left it is said to be over.

In a run from the command line its own process does that. On a server the planner does, for every tenant.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.engine import reading
from proctor.engine.planning import RunSetRow
from proctor.engine.service import EngineService
from proctor.engine.spec import Budget, parse_duration
from proctor.engine.tracing import telling_of_run_set
from proctor.kernel.money import parse_usd
from proctor.telemetry.spans import span

__all__ = ["oversee"]

RUN_SETS: int = 1000
"""Of one tenant that run at once and are looked after; the rest waits for its turn."""


def oversee(database: Database, tenant: UUID) -> int:
    """Look after a tenant's run sets once; returns how many ended or were paused."""
    engine = EngineService(database, tenant)

    def running(connection: Connection) -> Sequence[tuple[RunSetRow, int]]:
        rows = reading.run_sets(connection, tenant, state="running", limit=RUN_SETS)
        return [(row, reading.queue_left(connection, tenant, row.id)) for row in rows]

    done = 0
    for row, left in database.as_tenant(tenant, running):
        reason = _spent(engine, row) if left else None
        if left and reason is None:
            continue
        with telling_of_run_set(tenant, row), span("run_set.finish"):
            engine.finish(row.id, paused_reason=reason)
        done += 1
    return done


def _spent(engine: EngineService, row: RunSetRow) -> str | None:
    """Why a run set may not go on, where it used its budget up."""
    budget: Budget = engine.stored_spec(row.id).budget
    running = (datetime.now(UTC) - row.running_since).total_seconds()
    if budget.wall is not None and running > parse_duration(budget.wall):
        return f"budget.wall of {budget.wall} is used up"
    if budget.cost is None:
        return None
    cost = engine.read(lambda connection: reading.spent(connection, engine.tenant, row.id))
    return f"budget.cost of {budget.cost} is used up" if cost >= parse_usd(budget.cost) > 0 else None
