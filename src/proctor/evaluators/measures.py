"""What is measured of evaluators: how long they take, and how often they judge as people do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, select

from proctor.database.queries import run_query
from proctor.evaluators.models import evaluator_measure

__all__ = ["UNMEASURED", "Measure", "measures_of", "note_accuracy", "note_latency"]

_PACKAGE = "proctor.evaluators"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Of one definition, for one tenant."""

    evaluations: int
    latency_sec: float | None
    """The mean of one evaluation; ``None``: not measured."""
    accuracy: float | None
    """The share that it judges as people do, from 0 to 1; ``None``: not measured."""
    accuracy_source: str | None


UNMEASURED = Measure(evaluations=0, latency_sec=None, accuracy=None, accuracy_source=None)


def measures_of(connection: Connection, tenant: UUID) -> Mapping[str, Measure]:
    """By the digest of the definition."""
    rows = connection.execute(select(evaluator_measure).where(evaluator_measure.c.tenant_id == tenant))
    return {
        row.digest: Measure(
            evaluations=row.evaluations,
            latency_sec=row.seconds / row.evaluations if row.evaluations else None,
            accuracy=row.accuracy,
            accuracy_source=row.accuracy_source,
        )
        for row in rows
    }


def note_latency(connection: Connection, tenant: UUID, digest: str, *, evaluations: int, seconds: float) -> None:
    """Add a batch that took so long in all to the mean. Raises ValueError for what can't be."""
    if evaluations < 1 or not 0 <= seconds < float("inf"):
        raise ValueError(f"{evaluations} evaluations in {seconds} seconds")
    said = {"tenant": tenant, "digest": digest, "evaluations": evaluations, "seconds": seconds}
    run_query(_PACKAGE, connection, "note_latency", **said)


def note_accuracy(connection: Connection, tenant: UUID, digest: str, accuracy: float, *, source: str) -> None:
    """Keep the newest accuracy, with what it was measured against. Raises ValueError for none from 0 to 1."""
    if not 0 <= accuracy <= 1 or not source:
        raise ValueError(f"accuracy {accuracy} from {source!r}")
    said = {"tenant": tenant, "digest": digest, "accuracy": accuracy, "source": source}
    run_query(_PACKAGE, connection, "note_accuracy", **said)
