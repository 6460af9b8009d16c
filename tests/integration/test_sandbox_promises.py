"""A task that eats memory beyond its request, beside one that stays inside its own, on a node that runs out of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.sandboxes import promises
from proctor.sandboxes.errors import NodeLost
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, LimitKind, Limits, Requests, Sandbox, SandboxSpec
from proctor.sandboxes.local import LocalBackend, cgroups
from proctor.sandboxes.local import sandbox as local_sandbox
from proctor.sandboxes.promises import oom_score
from tests.contracts.sandboxes import labels
from tests.integration.test_sandbox_local import sandbox_root  # noqa: F401  a fixture

NODE_MB = 400
"""Of a machine within the machine: all its sandboxes together have no more."""
EATS = "x = bytearray(1 << 20)\nwhile len(x) < {mb} << 20: x += bytearray(4 << 20)\nprint('done', flush=True)"
STAYS = """import os, time
x = bytearray({mb} << 20)
print('there', flush=True)
while not os.path.exists('/app/go'):
    time.sleep(0.02)
print('alive')
"""

pytestmark = [
    pytest.mark.sandboxes,
    pytest.mark.skipif(
        os.geteuid() != 0 or LimitKind.MEMORY not in cgroups.available(),
        reason="needs control groups of memory, which only root may make",
    ),
]


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A group of its own for sandboxes, as large as a small machine, which the kernel's choice is told of."""
    monkeypatch.setattr(cgroups, "_PARENT", f"proctor-test-{os.getpid()}")
    monkeypatch.setattr(promises, "machine_bytes", lambda: NODE_MB << 20)
    monkeypatch.setattr(local_sandbox, "machine_bytes", lambda: NODE_MB << 20)
    cgroups._layout.cache_clear()
    folders = cgroups._layout().folders
    memory = folders[LimitKind.MEMORY]
    name = "memory.max" if (memory / "memory.max").exists() else "memory.limit_in_bytes"
    (memory / name).write_text(str(NODE_MB << 20))
    yield memory
    cgroups._layout.cache_clear()
    for folder in set(folders.values()):
        folder.rmdir()


async def python(sandbox: Sandbox, program: str, mb: int, said: asyncio.Event | None = None) -> ExecResult:
    def hear(stream: str, piece: bytes) -> None:
        if said is not None:
            said.set()

    argv = ["python3", "-c", program.format(mb=mb)]
    return await sandbox.exec(ExecRequest(argv=argv, timeout_sec=60, on_output=hear))


async def test_one_beyond_its_request_dies_and_its_larger_neighbour_does_not(
    node: Path,
    sandbox_root: Path,  # noqa: F811
) -> None:
    """By size alone the kernel would have taken the neighbour. Whose fault it was is told: the machine's."""
    backend = LocalBackend(sandbox_root)
    spec = SandboxSpec(labels=labels(), limits=Limits(memory_mb=4096))
    greedy = await backend.create(replace(spec, requests=Requests(memory_mb=32, cpus=0.5)))
    neighbour = await backend.create(replace(spec, requests=Requests(memory_mb=280, cpus=0.5)))
    try:
        there = asyncio.Event()
        inside = asyncio.create_task(python(neighbour, STAYS, 240, there))
        await there.wait()
        with pytest.raises(NodeLost, match="ran out of memory"):
            await python(greedy, EATS, 2000)
        await neighbour.exec(ExecRequest(argv=["touch", "/app/go"]))
        result = await inside
    finally:
        await greedy.destroy()
        await neighbour.destroy()
    assert (result.exit_code, result.oom) == (0, False)
    assert result.stdout == b"there\nalive\n"


async def test_one_that_runs_into_its_own_limit_is_still_to_blame(
    node: Path,
    sandbox_root: Path,  # noqa: F811
) -> None:
    backend = LocalBackend(sandbox_root)
    spec = SandboxSpec(labels=labels(), limits=Limits(memory_mb=64), requests=Requests(memory_mb=32, cpus=0.5))
    greedy = await backend.create(spec)
    try:
        result = await python(greedy, EATS, 2000)
    finally:
        await greedy.destroy()
    assert (result.oom, result.limit) == (True, LimitKind.MEMORY)


def test_scores_order_those_beyond_their_promise_before_all_that_are_inside() -> None:
    machine = 1000
    for promise in range(1, 900, 7):
        inside = oom_score(promise, machine) + 1000 * promise // machine
        beyond = oom_score(promise, machine) + 1000 * (promise + 3) // machine
        assert inside <= 1001 < beyond + 1
    assert oom_score(5000, machine) == 2
    assert oom_score(0, machine) == 999
