"""Real agents from their registries, in real sandboxes without a network, against our gateway.

Behind it is the mock provider as a server of its own, which speaks each provider's wire and wants a provider's key; the
agents have their attempt's token alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proctor.agents.catalogue import build_agent
from proctor.agents.interfaces import Agent, AgentContext, AgentRun, StepMaker, Usage
from proctor.agents.layers.store import LayerStore
from proctor.agents.trajectory import Step
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.models.calls import Payer
from proctor.models.fake import FakeRates, FakeSpending
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Declared, Session
from proctor.models.gateway.upstreams import HttpUpstream
from proctor.models.mock.script import parse_script
from proctor.models.mock.server import application
from proctor.models.prices.book import PriceBook
from proctor.models.providers.catalogue import SHIPPED, Catalogue
from proctor.sandboxes.interfaces import Limits, Sandbox, SandboxBackend, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from tests.contracts.sandboxes import labels

PROVIDER_KEY = "the-provider-s-own-key"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
DRIVEN = """
[[rules]]
[[rules.replies]]
text = "I write it."
calls = [{ shell = "echo hello > /app/solution.txt; echo written" }]
[[rules.replies]]
text = "It is written."
"""


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

    session: Session
    socket: str = "/proctor/models.sock"
    thinking: str | None = None

    @property
    def model(self) -> str:
        """The one that is declared."""
        return self.session.declared.model

    @property
    def token(self) -> str:
        """The attempt's own."""
        return self.session.token

    def usage(self) -> Usage:
        """Counted by the gateway."""
        totals = self.session.totals
        used = totals.usage
        return Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens, cost_nano=totals.cost_nano)


@dataclass
class Bench:
    """An agent's sandbox, and what it left."""

    sandbox: Sandbox
    agent: Agent
    session: Session
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
            models=Models(self.session, thinking=self.thinking),  # type: ignore[arg-type]
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
        layers = store.prepare(agent.layers, print)
        with tempfile.TemporaryDirectory(prefix="sandboxes-") as folder:
            Path(folder).chmod(0o711)
            spec = SandboxSpec(labels=labels(), relay=True, layers=layers, limits=Limits(memory_mb=4096))
            async with working(LocalBackend(Path(folder)), spec, agent, model, script) as one:
                yield one

    return made


@asynccontextmanager
async def working(
    backend: SandboxBackend, spec: SandboxSpec, agent: Agent, model: str, script: str
) -> AsyncIterator[Bench]:
    """An agent in a sandbox made so, with its model behind our gateway."""
    sandbox = await backend.create(spec)
    asked: list[web.Request] = []
    bodies: list[Any] = []
    try:
        async with serving(sandbox, model, script, asked, bodies) as session:
            yield Bench(sandbox, agent, session, asked, bodies)
    finally:
        await sandbox.destroy()


@asynccontextmanager
async def serving(
    sandbox: Sandbox, model: str, script: str, asked: list[web.Request], bodies: list[Any]
) -> AsyncIterator[Session]:
    """The provider, and the gateway before it at the sandbox's own socket; what the provider was asked."""

    @web.middleware
    async def noting(request: web.Request, handler: Callable[..., object]) -> web.StreamResponse:
        asked.append(request)
        bodies.append(await request.json())
        return await handler(request)  # type: ignore[misc, no-any-return]

    app = application(parse_script(script, "script"), key=PROVIDER_KEY)
    app.middlewares.append(noting)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gateway = _gateway(f"http://127.0.0.1:{runner.addresses[0][1]}")
    payer = Payer(tenant=new_id(), run_set=new_id(), profile="p", attempt=new_id())
    session = Session(payer, Declared(model=model), dict.fromkeys(KEYS, PROVIDER_KEY))
    try:
        assert sandbox.relay is not None
        await gateway.serve(session, sandbox.relay)
        yield session
    finally:
        await gateway.leave(session)
        gateway.close()
        await runner.cleanup()


def _gateway(address: str) -> Gateway:
    """One whose providers are all at an address, with money and rates in memory."""
    known = {one.name: replace(one, base_url=address) for one in SHIPPED if one.keys}

    async def no_wait(_seconds: float) -> None:
        """The agents try again by themselves."""

    def make() -> GatewayParts:
        upstream = HttpUpstream()
        return GatewayParts(
            catalogue=Catalogue(known),
            prices=PriceBook({}),
            spending=FakeSpending(),
            rates=FakeRates(),
            upstream=lambda _provider: upstream,
            clock=SystemClock(),
            breakers=Breakers(SystemClock()),
            sleep=no_wait,
        )

    async def close(parts: GatewayParts) -> None:
        await parts.upstream(next(iter(known.values()))).close()

    return Gateway(make, close)
