"""A worker on a small machine: no more attempts at once than fit it, and every one of them in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proctor.engine.worker import Worker, WorkerSettings
from proctor.headroom import Node, NodeReader, Reading
from proctor.headroom.reader import Disk, Memory
from proctor.kernel.clock import SystemClock
from proctor.sandboxes.fake import FakeBackend, FakeSandbox, rewards
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Sandbox, SandboxSpec
from tests.bench import TASK, Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "oracle"
"""


class Machine(NodeReader):
    """A machine whose memory is what a test says."""

    def __init__(self, total_mb: float, *, blind: bool = False) -> None:
        super().__init__(SystemClock(), Path("/"), own_group=False)
        self.total_mb, self.blind = total_mb, blind

    def read(self) -> Reading:
        memory = None if self.blind else Memory(total_mb=self.total_mb, free_mb=self.total_mb)
        disk = Disk(total_mb=1_000_000, free_mb=1_000_000)
        return Reading(taken=SystemClock().monotonic(), cpus=64, memory=memory, disk=disk)


class Counting(FakeBackend):
    """Counts the sandboxes that are there at once; the agent gives others time to come."""

    def __init__(self) -> None:
        super().__init__(rewards(1.0))
        self.most = 0

    async def create(self, spec: SandboxSpec) -> Sandbox:
        sandbox = Slow(self, spec, self._base(spec))
        self.sandboxes[sandbox.id] = sandbox
        self.most = max(self.most, len({one.spec.labels.attempt for one in self.sandboxes.values()}))
        return sandbox


class Slow(FakeSandbox):
    """Its agent lets every other task of the loop go on first."""

    async def exec(self, request: ExecRequest) -> ExecResult:
        if request.session == "agent":
            await asyncio.sleep(0.05)
        return await super().exec(request)


@pytest.mark.parametrize(("machine", "most"), [(Machine(1200), 2), (Machine(8000), 8), (Machine(0, blind=True), 1)])
def test_no_more_attempts_at_once_than_fit(bench: Bench, machine: Machine, most: int) -> None:
    write_tasks(bench.folder / "suite", 12, config=TASK.replace("[environment]", "[environment]\nmemory_mb = 512"))
    bench.backend = backend = Counting()
    run_set = bench.open(FILE).run_set
    plain = bench.worker(run_set.id)
    node = Node(machine, SystemClock(), overcommit=2.0)
    settings = WorkerSettings(slots=8, scope=run_set.id, lease_sec=4.0, node=node)
    worker = Worker(bench.database, plain._parts, plain._identity, settings, bench._count)
    with capture_logs() as lines:
        asyncio.run(worker.run(bench.engine.work_left(run_set.id)))
    assert bench.settled == {"passed": 12}
    assert backend.most == most
    assert worker.held_back is None
    told = [line["reason"] for line in lines if line["event"] == "worker.held_back"]
    assert len(told) == (most < 8), "once a minute a server's log says what waits for room"
