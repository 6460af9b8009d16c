"""Which trace the work on run sets and attempts goes under, in whatever process it is done.

A run set's trace is that of the request that made it. Its span and its attempts' have ids that follow from their own,
so that a worker names the parent of what it does without having been told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from proctor.engine.assignments import Assignment, Finished
from proctor.engine.planning import Plan, RunSetRow
from proctor.telemetry.context import Parent, current, derived_span_id, note, scope, within
from proctor.telemetry.spans import Attribute, Span, record, span

if TYPE_CHECKING:
    from proctor.engine.service import Opened

__all__ = ["attempt_span", "seconds_of", "settled_span", "tell_opened", "telling_of", "telling_of_run_set"]

_log = structlog.get_logger(__name__)


def tell_opened(plan: Plan, opened: Opened, began: int) -> None:
    """Say in log and trace that a run set was opened, once that is committed; ``began``: nanoseconds since 1970."""
    row = opened.run_set
    note(run_set=row.id)
    if opened.created:
        _record_opening(row, began)
    with telling_of_run_set(plan.tenant, row):
        event = "run_set.created" if opened.created else "run_set.continued"
        _log.info(event, queued=opened.queued, profiles=[one.name for one in plan.profiles])


def _record_opening(row: RunSetRow, began: int) -> None:
    """The run set's own span, from the request that made it; ``began``: nanoseconds since 1970."""
    here = current()
    parent = here.span_id if here is not None and here.trace_id == row.trace_id else ""
    made = Span("run_set.open", row.trace_id, parent, derived_span_id("run-set", row.id), began, ended=time.time_ns())
    made.set(run_set=str(row.id))
    record(made)


@contextmanager
def telling_of_run_set(tenant: UUID, row: RunSetRow) -> Iterator[None]:
    """Work on a run set, under its trace; whoever asked for it stays on the lines."""
    here = current()
    who = {"user": here.fields.get("user"), "request_id": here.fields.get("request_id")} if here is not None else {}
    parent = Parent(trace_id=row.trace_id, span_id=derived_span_id("run-set", row.id))
    with scope(parent, tenant=tenant, run_set=row.id, **who):
        yield


@contextmanager
def telling_of(assignment: Assignment) -> Iterator[None]:
    """Work on an attempt, under its run set's trace."""
    model = assignment.configuration.get("model")
    parent = Parent(trace_id=assignment.trace_id, span_id=derived_span_id("run-set", assignment.run_set))
    with scope(
        parent,
        tenant=assignment.tenant,
        run_set=assignment.run_set,
        attempt=assignment.attempt,
        profile=assignment.profile or None,
        model=model if isinstance(model, str) else None,
        worker=assignment.worker,
    ):
        yield


@contextmanager
def attempt_span(assignment: Assignment) -> Iterator[None]:
    """All of an attempt but its settling."""
    with span("attempt", _ids(assignment), span_id=derived_span_id("attempt", assignment.attempt)):
        yield


@contextmanager
def settled_span(finished: Finished, **facts: Attribute) -> Iterator[None]:
    """An attempt's end on record, as a child of the attempt."""
    assignment = finished.assignment
    parent = derived_span_id("attempt", assignment.attempt)
    with (
        telling_of(assignment),
        within(assignment.trace_id, parent),
        span("attempt.settle", {**_ids(assignment), **facts}),
    ):
        yield


def seconds_of(finished: Finished) -> float | None:
    """From an attempt's first phase to its last."""
    evidence = finished.evidence
    return round((evidence[-1].ended_at - evidence[0].started_at).total_seconds(), 3) if evidence else None


def _ids(assignment: Assignment) -> dict[str, Attribute]:
    return {
        "run_set": str(assignment.run_set),
        "attempt": str(assignment.attempt),
        "cell": str(assignment.cell),
        "number": assignment.number,
    }
