"""Agents that others made in containers: nothing of what they need is the image's but its own glibc."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.agents.catalogue import build_agent
from proctor.agents.interfaces import AgentContext
from proctor.agents.layers.python import find_interpreter, python_command, python_layer
from proctor.agents.layers.store import LayerStore
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.interfaces import ExecRequest, Limits, SandboxSpec
from tests.agents.conftest import Models, serving
from tests.contracts.sandboxes import labels

pytestmark = pytest.mark.timeout(400)

SCRIPT = """
[[rules]]
[[rules.replies]]
text = "I write it."
calls = [{ shell = "echo hello > /app/solution.txt; echo written" }]
[[rules.replies]]
text = "It is written."
"""


@pytest.fixture(scope="module")
def store() -> Iterator[LayerStore]:
    """``PROCTOR_TEST_LAYERS`` names one that stays."""
    with tempfile.TemporaryDirectory(prefix="agents-layers-") as name:
        Path(name).chmod(0o755)
        yield LayerStore(folder=Path(os.environ.get("PROCTOR_TEST_LAYERS", name)))


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
    sandbox = await DockerBackend("tests").create(spec)
    steps = []
    try:
        async with serving(sandbox, SCRIPT, []):
            context = AgentContext(
                task_name="task",
                instruction="Write hello into solution.txt.",
                sandbox=sandbox,
                workdir=sandbox.workdir,
                timeout_sec=90,
                models=Models(model),  # type: ignore[arg-type]
                on_step=lambda maker: steps.append(maker(len(steps) + 1)),
            )
            await agent.setup(context)
            run = await agent.run(context)
        assert run.exec.exit_code == 0, run.exec.stderr[-2000:] + run.exec.stdout[-2000:]
        assert await sandbox.read("/app/solution.txt", 100) == b"hello\n"
        assert "written" in steps[0].observation.results[0].content
    finally:
        await sandbox.destroy()


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
