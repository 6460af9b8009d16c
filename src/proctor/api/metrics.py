"""Metrics for Prometheus: what this process answered, and the whole installation's queue, attempts, calls and storage.

What is of the installation is read when somebody asks, by the scheduler's role, at most every ten seconds; no label
names a tenant, a task or a person, so that whoever reads the metrics learns nobody's business.
"""

from __future__ import annotations

import threading
import time
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from uuid import UUID

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection, text

from proctor.api.health_metrics import health_metrics
from proctor.api.model_metrics import CallTallies, of_tenant
from proctor.app import Server
from proctor.engine.blaming import owners_lately
from proctor.engine.outcomes import OutcomeClass
from proctor.identity.quotas import stored_bytes
from proctor.identity.service import tenants
from proctor.queue import service as queue
from proctor.queue import workers
from proctor.sdk.leaks import leaks
from proctor.telemetry.tallies import Tally as Kept
from proctor.telemetry.tallies import counts

__all__ = ["Metrics"]

KEPT_SEC: float = 10.0
LEAKS_SEC: float = 60.0
"""Sandboxes are counted by asking each backend, an engine among them."""
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Metrics:
    """The metrics of one API process."""

    def __init__(self, server: Server) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "proctor_http_request_seconds",
            "Answers of the API",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._registry.register(_Installation(server))
        self._registry.register(_Telemetry())

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer. ``route``: its path with the names of its parameters."""
        self._seconds.labels(method, route, f"{status // 100}xx").observe(seconds)

    def text(self) -> bytes:
        """All of them, in Prometheus's text format."""
        return generate_latest(self._registry)


class _Telemetry(Collector):
    """What became of this process's own spans and log lines."""

    def describe(self) -> Iterable[Metric]:
        """Nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Since the process began."""
        found = counts()
        spans = CounterMetricFamily("proctor_trace_spans", "Spans of this process", labels=("state",))
        spans.add_metric(["sent"], found[Kept.SPANS_SENT])
        spans.add_metric(["dropped"], found[Kept.SPANS_DROPPED])
        lines = CounterMetricFamily("proctor_log_lines", "Log lines of this process, to be searched", labels=("state",))
        lines.add_metric(["stored"], found[Kept.LINES_STORED])
        lines.add_metric(["lost"], found[Kept.LINES_LOST])
        return (spans, lines)


class _Installation(Collector):
    """What the database knows, read anew when the last reading is old."""

    def __init__(self, server: Server) -> None:
        self._server, self._lock = server, threading.Lock()
        self._families: Sequence[Metric] = ()
        self._read = self._looked = -LEAKS_SEC
        self._leaks: dict[str, int] = {}

    def describe(self) -> Iterable[Metric]:
        """Nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The last reading, or a new one."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= LEAKS_SEC:
                self._looked, self._leaks = now, dict(leaks(self._server.settings))
            if now - self._read >= KEPT_SEC:
                self._read, self._families = now, self._families_now()
            return [*self._families, _leaked(self._leaks)]

    def _families_now(self) -> list[Metric]:
        database = self._server.database
        with database.scheduler() as connection:
            depth, age = _queue(queue.depths(connection))
            size = int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
            everyone = [one.id for one in tenants(connection)]
            living = workers.living(connection)
            health = health_metrics(connection, self._server.settings)
        ends: Tally[tuple[str, str]] = Tally()
        calls, stored = CallTallies(), 0
        for tenant in everyone:
            found, bytes_ = database.as_tenant(tenant, lambda c, t=tenant: _of_tenant(c, t))  # type: ignore[misc]
            ends.update(found)
            stored += bytes_
            calls.add(*database.as_tenant(tenant, lambda c, t=tenant: of_tenant(c, t, living)))  # type: ignore[misc]
        return [depth, age, *_ended(ends), *calls.families(), *_storage(size, stored), *health]


def _queue(rows: Sequence[queue.Depth]) -> tuple[Metric, Metric]:
    labels = ("kind", "provider", "band", "state")
    depth = GaugeMetricFamily("proctor_queue_rows", "Rows of the queue", labels=labels)
    age = GaugeMetricFamily("proctor_queue_oldest_seconds", "Since when the first of them is ready", labels=labels)
    for row in rows:
        names = [row.kind, row.provider, queue.Band(row.band).name.lower(), row.state]
        depth.add_metric(names, row.rows)
        age.add_metric(names, row.oldest_sec)
    return depth, age


def _of_tenant(connection: Connection, tenant: UUID) -> tuple[Tally[tuple[str, str]], int]:
    return owners_lately(connection, tenant), stored_bytes(connection, tenant) or 0


def _ended(ends: Tally[tuple[str, str]]) -> list[Metric]:
    by_class = GaugeMetricFamily(
        "proctor_attempts_recent", "Attempts that ended in the last minutes", labels=("class", "owner")
    )
    for (name, owner), count in sorted(ends.items()):
        by_class.add_metric([name, owner], count)
    share = GaugeMetricFamily("proctor_infrastructure_share", "Of these, the share that was the infrastructure's fault")
    whole = sum(ends.values())
    if whole:
        share.add_metric([], sum(count for (_, owner), count in ends.items() if owner == "infrastructure") / whole)
    lost = GaugeMetricFamily("proctor_lease_losses_recent", "Of these, attempts whose lease was lost")
    lost.add_metric([], sum(count for (name, _), count in ends.items() if name == OutcomeClass.LEASE_LOST.value))
    return [by_class, share, lost]


def _storage(database: int, stored: int) -> list[Metric]:
    family = GaugeMetricFamily("proctor_storage_bytes", "What is stored", labels=("where",))
    family.add_metric(["database"], database)
    family.add_metric(["objects"], stored)
    return [family]


def _leaked(found: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(
        "proctor_leaked_sandboxes", "Sandboxes on this machine that nobody holds any more", labels=("backend",)
    )
    for backend, count in found.items():
        family.add_metric([backend], count)
    return family
