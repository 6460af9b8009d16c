"""A small platform over the test database and the fake sandbox: what the engine's tests share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.engine import URL

from proctor.agents.catalogue import build_agent
from proctor.agents.interfaces import Agent
from proctor.agents.layers.store import LayerStore
from proctor.database.engine import Database
from proctor.engine import leaderboards, reading
from proctor.engine.attempt_models import Models
from proctor.engine.attempts import RunnerParts
from proctor.engine.certificates.certificate import Certificate, CheckVerdict
from proctor.engine.certificates.checks import ORACLE_RUNS, checks_digest
from proctor.engine.certificates.service import CertificateService, ground_for
from proctor.engine.library import CachedLibrary
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import Decided
from proctor.engine.resolving import Resolved, resolve
from proctor.engine.service import EngineService, OnMoved, Opened, Selection
from proctor.engine.spec import parse_spec
from proctor.engine.worker import Worker, WorkerSettings
from proctor.kernel.canonical import Json, sha256_hex
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.models.known import KnownModels
from proctor.objects.store import ObjectStore
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sandboxes.interfaces import SandboxBackend
from proctor.suites.service import StoredTask, SuiteService

TASK = """
schema_version = "1.4"
[agent]
timeout_sec = 30
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "snapshot"
"""


def write_tasks(folder: Path, count: int, *, malformed: int = 0, config: str = TASK) -> Path:
    """``count`` small tasks, of which the last ``malformed`` are not TOML."""
    for number in range(count):
        task = folder / f"task-{number:02d}"
        (task / "tests").mkdir(parents=True)
        (task / "solution").mkdir()
        (task / "task.toml").write_text(config if number < count - malformed else "[agent")
        (task / "instruction.md").write_text(f"Do {number}.\n")
        (task / "tests" / "test.sh").write_text("#!/bin/bash\n")
        (task / "solution" / "solve.sh").write_text("#!/bin/bash\n")
    return folder


def certificate_for(
    task: StoredTask,
    backend: SandboxBackend,
    verdict: CheckVerdict = CheckVerdict.CERTIFIED,
    *,
    oracle: Sequence[bool | None] = (True,) * ORACLE_RUNS,
    problems: Sequence[str] = (),
) -> Certificate:
    """A certificate that says what it is told, with nothing run."""
    return Certificate(
        id=new_id(),
        agent_digest=task.agent_digest,
        verifier_digest=task.verifier_digest,
        content_digest=task.content_digest,
        ground=ground_for(backend, [task]),
        checks=checks_digest(),
        verdict=verdict,
        problems=tuple(problems),
        snapshot=None,
        oracle=tuple(oracle),
        runs=(),
        made_by="a test",
    )


@dataclass
class Bench:
    """Plans and runs run-set files as one tenant."""

    database: Database
    tenant: UUID
    objects: ObjectStore
    folder: Path
    owner: URL
    backend: SandboxBackend = field(default_factory=lambda: FakeBackend(rewards(1.0)))
    secrets: Mapping[str, str] = field(default_factory=dict)
    models: Models | None = None
    known: KnownModels | None = None
    agents: Callable[[str, Mapping[str, Json]], Agent] = build_agent
    layers: LayerStore | None = None
    settled: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.suites = SuiteService(self.database, self.objects)
        self.engine = EngineService(self.database, self.tenant)
        self.certificates = CertificateService(self.database, self.tenant)

    def resolved(self, source: str, *, fresh: bool = False) -> Resolved:
        """A run-set file's text, resolved against this bench's folder."""
        spec = parse_spec(source.encode(), where="test.toml")
        return resolve(
            spec,
            sha256_hex(source.encode()),
            tenant=self.tenant,
            base=self.folder,
            suites=self.suites,
            backend=self.backend,
            fresh=fresh,
            models=self.known,
            agents=self.agents,
        )

    def certify(self, source: str) -> None:
        """Give every usable task of a file's suite a certificate, with nothing run."""
        for task in self.resolved(source).tasks:
            if task.task is not None:
                self.certificates.keep(certificate_for(task, self.backend))

    def open(
        self,
        source: str,
        *,
        on_moved: OnMoved = OnMoved.ASK,
        fresh: bool = False,
        selection: Selection | None = None,
    ) -> Opened:
        """Find or make the file's run set."""
        resolved = self.resolved(source, fresh=fresh)
        return self.engine.open(resolved, on_moved=on_moved, fresh=fresh, selection=selection or Selection())

    def worker(self, scope: UUID | None, *, slots: int = 4, lease_sec: float = 4.0) -> Worker:
        """A worker of this process."""
        identity = WorkerIdentity.of_this_process()
        parts = RunnerParts(
            backend=self.backend,
            objects=self.objects,
            library=CachedLibrary(self.suites, self.folder / "cache"),
            clock=SystemClock(),
            owner=identity.owner,
            scratch=self.folder,
            secrets=self.secrets,
            models=self.models,
            agents=self.agents,
            layers=self.layers,
        )
        settings = WorkerSettings(slots=slots, scope=scope, lease_sec=lease_sec)
        return Worker(self.database, parts, identity, settings, self._count)

    def _count(self, batch: Sequence[Decided]) -> None:
        self.settled.update(decided.outcome.outcome.value for decided in batch)

    def work(self, run_set: UUID, *, until: Callable[[], bool] | None = None) -> RunSetRow:
        """Run everything a run set has queued, and say how it ended."""
        asyncio.run(self.worker(run_set).run(until or self.engine.work_left(run_set)))
        return self.engine.finish(run_set)

    def run(self, source: str) -> RunSetRow:
        """Open and work."""
        return self.work(self.open(source).run_set.id)

    def progress(self, row: RunSetRow) -> reading.Progress:
        """The run set's counts."""
        return self.engine.read(lambda c: reading.progress(c, self.tenant, row))

    def leaderboard(self, row: RunSetRow) -> dict[str, leaderboards.LeaderboardRow]:
        """The run set's rows by profile."""
        rows = self.engine.read(lambda c: leaderboards.leaderboard(c, self.tenant, row, self.engine.reasons(c, row)))
        return {one.profile: one for one in rows}

    def cells(self, row: RunSetRow) -> tuple[reading.CellRow, ...]:
        """The run set's first thousand cells."""
        return self.engine.read(lambda c: reading.cells(c, self.tenant, row, limit=1000)).cells

    def sql(self, query: str, **parameters: object) -> list[tuple[object, ...]]:
        """Rows of a query in the tenant's session."""
        return self.engine.read(lambda c: [tuple(row) for row in c.execute(text(query), parameters)])
