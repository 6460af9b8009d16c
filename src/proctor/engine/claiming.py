"""Claims and the attempts they start, in one transaction: a sandbox is asked for only after both are durable."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.engine.assignments import Assignment
from proctor.engine.identity import attempt_id
from proctor.engine.policy_book import recall
from proctor.engine.recording import KIND
from proctor.headroom import Admit, HeldBack, Node
from proctor.kernel.canonical import Json
from proctor.kernel.ids import derived_id
from proctor.queue import service as queue
from proctor.queue.service import Claim

__all__ = ["Claimer"]

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class _Profile:
    name: str
    configuration: Mapping[str, Json]
    provider: str


class Claimer:
    """Takes work for one worker. Keeps the profiles of run sets it has seen, since thousands of cells share them."""

    def __init__(
        self,
        database: Database,
        worker_id: UUID,
        *,
        backend: str,
        slots: int,
        scope: UUID | None,
        lease_sec: float,
        host: str = "",
        node: Node | None = None,
    ) -> None:
        """``host``: the node as breakers know it; ``node``: what attempts have to fit into, ``None``: nothing."""
        self._database, self._worker, self._backend, self._host = database, worker_id, backend, host
        self._slots, self._scope, self._lease, self._node = slots, scope, lease_sec, node
        self._profiles: dict[UUID, list[_Profile]] = {}

    def claim(
        self, limit: int, known: Callable[[], Sequence[int]], begun: Callable[[], Sequence[int]] = list
    ) -> list[Assignment]:
        """Up to ``limit`` attempts, started. ``known``: tokens the worker already holds, asked for if a claim's
        answer was lost with the connection; ``begun``: those of them whose sandboxes are there."""
        tries = 0
        admit = None if self._node is None else self._node.admit()

        def work(connection: Connection) -> list[Assignment]:
            nonlocal tries
            tries += 1
            adopted = self._adopt(connection, known()) if tries > 1 else []
            return adopted or self._claim(connection, limit, admit, begun())

        return self._database.as_scheduler(work)

    def held_back(self, begun: Sequence[int]) -> HeldBack | None:
        """What of the worker's one run set waits for room on its node; ``None``: nothing, or it works for any."""
        if self._node is None or self._scope is None:
            return None
        worker, scope, admit = self._worker, self._scope, self._node.admit()
        return self._database.as_scheduler(
            lambda c: queue.held_back(c, KIND, worker_id=worker, scope=scope, admit=admit, begun=begun)
        )

    def _claim(self, connection: Connection, limit: int, admit: Admit | None, begun: Sequence[int]) -> list[Assignment]:
        claims = queue.claim(
            connection,
            KIND,
            worker_id=self._worker,
            limit=limit,
            slots=self._slots,
            scope=self._scope,
            lease_sec=self._lease,
            admit=admit,
            begun=begun,
        )
        assignments: list[Assignment] = []
        for tenant, of_tenant in _by_tenant(claims).items():
            self._database.set_tenant(connection, tenant)
            assignments.extend(self._start(connection, tenant, of_tenant))
        return assignments

    def _start(self, connection: Connection, tenant: UUID, claims: Mapping[UUID, Claim]) -> list[Assignment]:
        rows = _run(
            connection,
            "assign",
            tenant=tenant,
            ids=list(claims),
            tokens=[claim.token for claim in claims.values()],
            scope=self._scope,
        ).all()
        idle = [(row.cell_id, row.token) for row in rows if row.run_set_id is None or row.decided]
        if idle:
            queue.complete(connection, tenant, KIND, idle)
        starting = [row for row in rows if row.run_set_id is not None and not row.decided]
        for version in {row.policy_version for row in starting}:
            recall(connection, tenant, version)  # the writer thread classifies by it, without a connection
        assignments = [self._assignment(connection, tenant, row, claims[row.cell_id]) for row in starting]
        if assignments:
            self._insert(connection, tenant, assignments)
        return assignments

    def _insert(self, connection: Connection, tenant: UUID, assignments: Sequence[Assignment]) -> None:
        waited = queue.waited(connection, tenant, KIND, [assignment.cell for assignment in assignments])
        attempts = json.dumps([_attempt_row(one, waited.get(one.cell)) for one in assignments])
        _run(connection, "start_attempts", tenant=tenant, rows=attempts, worker=self._worker, backend=self._backend)
        events = json.dumps([_event_row(assignment) for assignment in assignments])
        _run(connection, "insert_events", tenant=tenant, rows=events)

    def _adopt(self, connection: Connection, known: Sequence[int]) -> list[Assignment]:
        claims = queue.held_by(connection, KIND, self._worker, known=known)
        adopted: list[Assignment] = []
        for tenant, of_tenant in _by_tenant(claims).items():
            self._database.set_tenant(connection, tenant)
            tokens = [claim.token for claim in of_tenant.values()]
            rows = _run(connection, "adopt", tenant=tenant, ids=list(of_tenant), tokens=tokens).all()
            for version in {row.policy_version for row in rows}:
                recall(connection, tenant, version)
            adopted.extend(self._assignment(connection, tenant, row, of_tenant[row.cell_id]) for row in rows)
        return adopted

    def _assignment(self, connection: Connection, tenant: UUID, row: Any, claim: Claim) -> Assignment:
        profile = self._profile(connection, tenant, row.run_set_id, row.profile)
        return Assignment(
            tenant=tenant,
            cell=row.cell_id,
            attempt=attempt_id(tenant, row.cell_id, row.number),
            number=row.number,
            token=claim.token,
            tries=claim.tries,
            run_set=row.run_set_id,
            content_digest=row.content_digest,
            configuration=profile.configuration,
            provider=profile.provider,
            trace_id=row.trace_id,
            policy_version=row.policy_version,
            profile=profile.name,
            worker=self._worker,
            node=self._host,
        )

    def _profile(self, connection: Connection, tenant: UUID, run_set: UUID, position: int) -> _Profile:
        if run_set not in self._profiles:
            rows = _run(connection, "run_set_context", tenant=tenant, run_set=run_set).all()
            self._profiles[run_set] = [
                _Profile(name=row.name, configuration=row.document, provider=row.routing["provider"]) for row in rows
            ]
        return self._profiles[run_set][position]


def _by_tenant(claims: Iterable[Claim]) -> dict[UUID, dict[UUID, Claim]]:
    grouped: dict[UUID, dict[UUID, Claim]] = defaultdict(dict)
    for claim in claims:
        grouped[claim.tenant_id][claim.id] = claim
    return grouped


def _attempt_row(assignment: Assignment, waited: float | None) -> dict[str, Json]:
    return {
        "id": str(assignment.attempt),
        "cell_id": str(assignment.cell),
        "number": assignment.number,
        "run_set_id": str(assignment.run_set),
        "content_digest": assignment.content_digest,
        "token": assignment.token,
        "trace_id": assignment.trace_id,
        "waited_sec": waited,
    }


def _event_row(assignment: Assignment) -> dict[str, Json]:
    return {
        "id": str(derived_id("event", "attempt.started", assignment.tenant, assignment.attempt)),
        "name": "attempt.started",
        "subject": str(assignment.attempt),
        "trace_id": assignment.trace_id,
        "payload": {
            "run_set": str(assignment.run_set),
            "cell": str(assignment.cell),
            "number": assignment.number,
            "token": assignment.token,
        },
    }
