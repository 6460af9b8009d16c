"""Real agents from their registries, in real sandboxes without a network, against the mock provider."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proctor.agents.adapters.adapter import Adapter
from proctor.agents.catalogue import build_agent
from proctor.agents.interfaces import AgentContext, AgentRun, StepMaker, Usage
from proctor.agents.layers.store import LayerStore
from proctor.agents.trajectory import Step
from proctor.models.mock.script import parse_script
from proctor.models.mock.server import application
from proctor.sandboxes.interfaces import Limits, Sandbox, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from tests.contracts.sandboxes import labels

TOKEN = "the-attempt-s-own-token"


@pytest.fixture(scope="session")
def store() -> Iterator[LayerStore]:
    """One for all tests; ``PROCTOR_TEST_LAYERS`` names one that stays."""
    kept = os.environ.get("PROCTOR_TEST_LAYERS")
    if kept:
        yield LayerStore(folder=Path(kept))
        return
    with tempfile.TemporaryDirectory(prefix="agents-layers-") as name:
        Path(name).chmod(0o755)
        yield LayerStore(folder=Path(name))


@dataclass
class Models:
    """What an agent is told of its model."""

    model: str
    token: str = TOKEN
    socket: str = "/proctor/models.sock"
    thinking: str | None = None

    def usage(self) -> Usage:
        """Counted by the gateway, which is not here."""
        return Usage()


@dataclass
class Bench:
    """An agent's sandbox, and what it left."""

    sandbox: Sandbox
    agent: Adapter
    model: str
    asked: list[web.Request]
    bodies: list[Any] = field(default_factory=list)
    thinking: str | None = None
    steps: list[Step] = field(default_factory=list)
    output: bytes = b""

    async def work(self, instruction: str = "Write hello into solution.txt.", seconds: float = 90) -> AgentRun:
        """Set the agent up and run it."""
        context = AgentContext(
            task_name="task",
            instruction=instruction,
            sandbox=self.sandbox,
            workdir=self.sandbox.workdir,
            timeout_sec=seconds,
            models=Models(self.model, thinking=self.thinking),  # type: ignore[arg-type]
            on_output=self._printed,
            on_step=self._stepped,
        )
        await self.agent.setup(context)
        return await self.agent.run(context)

    def _printed(self, _: str, piece: bytes) -> None:
        self.output += piece

    def _stepped(self, maker: StepMaker) -> None:
        self.steps.append(maker(len(self.steps) + 1))


@pytest.fixture
def bench(store: LayerStore) -> Callable[..., object]:
    """``bench(agent, model, script)`` is a context that gives a ``Bench``."""

    @asynccontextmanager
    async def made(name: str, model: str, script: str) -> AsyncIterator[Bench]:
        agent = build_agent(name, {}, store)
        assert isinstance(agent, Adapter)
        trees = store.prepare(agent.layers, print)
        asked: list[web.Request] = []
        with tempfile.TemporaryDirectory(prefix="sandboxes-") as folder:
            Path(folder).chmod(0o711)
            backend = LocalBackend(Path(folder))
            spec = SandboxSpec(labels=labels(), relay=True, layers=trees, limits=Limits(memory_mb=4096))
            sandbox = await backend.create(spec)
            try:
                async with serving(sandbox, script, asked) as bodies:
                    yield Bench(sandbox, agent, model, asked, bodies)
            finally:
                await sandbox.destroy()

    return made


@asynccontextmanager
async def serving(sandbox: Sandbox, script: str, asked: list[web.Request]) -> AsyncIterator[list[Any]]:
    """The mock provider behind the sandbox's socket; what it was asked, and the bodies of that."""
    bodies: list[Any] = []

    @web.middleware
    async def noting(request: web.Request, handler: Callable[..., object]) -> web.StreamResponse:
        asked.append(request)
        bodies.append(await request.json())
        return await handler(request)  # type: ignore[misc, no-any-return]

    app = application(parse_script(script, "script"), key=TOKEN)
    app.middlewares.append(noting)
    runner = web.AppRunner(app)
    await runner.setup()
    assert sandbox.relay is not None
    path = sandbox.relay / "models.sock"
    await web.UnixSite(runner, str(path)).start()
    path.chmod(0o666)
    try:
        yield bodies
    finally:
        await runner.cleanup()
