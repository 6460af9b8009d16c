"""How long cells are expected to take, for the order of service: as long as the task took before, else its limit.

A limit says little: most tasks are done in a small part of it, and the long ones are what the order is for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = ["Measured", "measure"]

_run = partial(run_query, "proctor.engine")

SAMPLE: int = 9
"""Verdicts looked at for a configuration and task, the last ones: a median of more says hardly more."""
OTHERS: int = 10
"""Configurations of the suite's last run sets that speak for one that never ran."""


class Measured:
    """Seconds that attempts with a verdict took, by configuration and agent-visible digest of the task."""

    def __init__(self, seconds: Mapping[tuple[str, str], Sequence[float]]) -> None:
        self._own = seconds
        self._by_task: dict[str, list[float]] = defaultdict(list)
        for (_, agent_digest), took in seconds.items():
            self._by_task[agent_digest].extend(took)

    def expected(self, configuration: str, agent_digest: str, limit: float) -> float:
        """The median of the configuration's own; else of what others took for the task; else its time limit."""
        sample = self._own.get((configuration, agent_digest)) or self._by_task.get(agent_digest)
        return median(sample) if sample else limit


def measure(
    connection: Connection, tenant: UUID, suite_id: str, configurations: Sequence[str], agent_digests: Sequence[str]
) -> Measured:
    """What is on record of these tasks, of these configurations and of those that ran over the suite last."""
    others = _run(connection, "last_configurations", tenant=tenant, suite_id=suite_id, limit=OTHERS).scalars()
    rows = _run(
        connection,
        "measured_seconds",
        tenant=tenant,
        configurations=sorted({*configurations, *others}),
        agent_digests=sorted(set(agent_digests)),
        sample=SAMPLE,
    )
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        found[row.configuration, row.agent_digest].append(row.seconds)
    return Measured(found)
