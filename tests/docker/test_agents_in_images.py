"""Agents that others made in containers: nothing of what they need is the image's but its own glibc."""

from __future__ import annotations

import sys

import pytest

from proctor.agents.catalogue import build_agent
from proctor.agents.layers.python import find_interpreter, python_command, python_layer
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.interfaces import ExecRequest, Limits, SandboxSpec
from tests.agents.conftest import DRIVEN, store, working
from tests.contracts.sandboxes import labels

pytestmark = pytest.mark.timeout(400)
__all__ = ["store"]
"""The fixture of the agents' own tests."""


@pytest.fixture
async def image(image_folder) -> str:
    return await DockerBackend("tests").build(image_folder, 120)


@pytest.mark.parametrize(("name", "model"), [("gemini-cli", "gemini/gemini-2.5-pro"), ("codex", "openai/m")])
async def test_an_agent_brings_all_that_it_needs(image, store, name, model):
    agent = build_agent(name, {}, store)
    spec = SandboxSpec(
        labels=labels(),
        image=image,
        workdir="/app",
        relay=True,
        layers=store.prepare(agent.layers, print),
        limits=Limits(memory_mb=2048),
    )
    async with working(DockerBackend("tests"), spec, agent, model, DRIVEN) as at:
        run = await at.work()
        assert run.exec.exit_code == 0, run.exec.stderr[-2000:] + run.exec.stdout[-2000:]
        assert await at.sandbox.read("/app/solution.txt", 100) == b"hello\n"
        assert "written" in at.steps[0].observation.results[0].content


async def test_a_copied_python_runs_where_there_is_none(image, store):
    version = ".".join(sys.version.split(".")[:2])
    layers = store.prepare([python_layer(find_interpreter([version], "test"))])
    spec = SandboxSpec(labels=labels(), image=image, layers=layers)
    sandbox = await DockerBackend("tests").create(spec)
    try:
        words = ["-c", "import ssl, sqlite3, ctypes, asyncio, lzma; print('runs')"]
        result = await sandbox.exec(ExecRequest(argv=[*python_command(words[0]), words[1]]))
        assert result.stdout == b"runs\n", result.stderr
    finally:
        await sandbox.destroy()
