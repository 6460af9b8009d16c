"""What a container is promised, beside what it may not go beyond, and the disk that admission looks at."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from proctor.headroom import NodeReader
from proctor.kernel.clock import SystemClock
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.interfaces import Limits, Requests, SandboxSpec
from tests.contracts.sandboxes import labels


@pytest.fixture
def backend() -> DockerBackend:
    return DockerBackend("promises")


async def test_a_request_is_kept_apart_from_the_limit(backend: DockerBackend, image_folder: Path) -> None:
    spec = SandboxSpec(
        labels=labels(),
        image=await backend.build(image_folder, 120),
        limits=Limits(memory_mb=256, cpus=1),
        requests=Requests(memory_mb=64, cpus=0.5),
    )
    sandbox = await backend.create(spec)
    try:
        shown = subprocess.run(["docker", "inspect", sandbox.id], capture_output=True, check=True).stdout
    finally:
        await sandbox.destroy()
    host = json.loads(shown)[0]["HostConfig"]
    assert (host["Memory"], host["MemoryReservation"]) == (256 * 1000**2, 64 * 1000**2)
    assert (host["NanoCpus"], host["CpuShares"]) == (10**9, 512)
    assert 2 <= host["OomScoreAdj"] <= 999


def test_the_disk_of_an_engine_that_runs_here_can_be_read(backend: DockerBackend) -> None:
    footing = backend.footing()
    assert footing.disk is not None
    reading = NodeReader(SystemClock(), footing.disk, own_group=footing.own_group).read()
    assert reading.disk is not None
    assert reading.memory is not None
