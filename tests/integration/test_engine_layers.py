"""Agents with layers in the engine, over the fake sandbox: when they are brought, who sees them, and when they fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from proctor.agents.errors import ProfileInvalid
from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Usage
from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.registries import LayerFailed, Registries
from proctor.agents.layers.store import LayerStore
from proctor.engine import reading
from proctor.kernel.canonical import Json
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sandboxes.interfaces import Sandbox, SandboxSpec
from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "layered"
model = "mock/m"
"""


class Layered:
    """Does nothing, with a program that it would have done it with."""

    def __init__(self, version: str = "1.2") -> None:
        lock: dict[str, Json] = {"version": version}
        self.layers = (Layer(name="tool", kind=LayerKind.NPM, version=version, lock=lock, needs=("bin/tool",)),)
        self.identity = AgentIdentity(name="layered", version=version, layer_digest=self.layers[0].digest)

    async def setup(self, context: AgentContext) -> None:
        """Nothing more."""

    async def run(self, context: AgentContext) -> AgentRun:
        """Nothing."""
        return AgentRun(usage=Usage.none())

    async def close(self) -> None:
        """Nothing is held."""


@dataclass
class Made:
    """Agents that were asked for, and whether a registry is there."""

    asked: list[Json] = field(default_factory=list)
    installed: int = 0
    broken: bool = False
    other: bool = False
    """Whether the same version is another thing by now."""

    def agent(self, name: str, options: Mapping[str, Json]) -> Layered:
        """As ``build_agent``."""
        self.asked.append(options.get("agent_version"))
        made = Layered()
        if self.other:
            made.identity = replace(made.identity, layer_digest="0" * 64)
        return made

    def install(self, _: Layer, draft: Path, __: object) -> None:
        """Lay out a layer."""
        if self.broken:
            raise LayerFailed("npm ended with 1: no such host")
        self.installed += 1
        (draft / "bin").mkdir()
        (draft / "bin/tool").write_text("x")


class Seen(FakeBackend):
    """Remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(rewards(1.0))
        self.specs: list[SandboxSpec] = []

    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.specs.append(spec)
        return await super().create(spec)


@pytest.fixture
def made(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Made:
    write_tasks(bench.folder / "suite", 1)
    made = Made()
    bench.backend, bench.agents = Seen(), made.agent
    bench.layers = LayerStore(folder=bench.folder / "layers", registries=Registries({}))
    monkeypatch.setattr(LayerStore, "_install", lambda _, *words: made.install(*words))
    return made


def test_layers_are_brought_before_the_sandbox_and_are_the_agent_s_alone(bench: Bench, made: Made) -> None:
    (cell,) = bench.cells(bench.run(FILE))
    assert (cell.outcome, made.installed) == ("passed", 1)
    assert made.asked == [None, "1.2"], "the version that was planned is the one that runs"
    detail = bench.engine.read(lambda c: reading.attempt_detail(c, bench.tenant, cell.attempt))  # type: ignore[arg-type]
    phases = [item["phase"] for item in detail.evidence]
    assert phases[:5] == ["prepare", "agent_setup", "image", "start", "agent_setup"]
    assert detail.evidence[1]["detail"]["layers"] == {"tool": "1.2"}
    assert isinstance(bench.backend, Seen)
    agents, verifiers = bench.backend.specs
    assert list(agents.layers) == ["/proctor-layers/tool"]
    assert verifiers.layers == {}


def test_a_registry_that_is_not_there_is_not_the_agent_s_fault(bench: Bench, made: Made) -> None:
    made.broken = True
    bench.work(bench.open(FILE).run_set.id, until=lambda: not bench.settled)
    assert bench.settled == {"agent_setup_error": 1}


def test_a_version_that_became_another_thing_is_not_run(bench: Bench, made: Made) -> None:
    opened = bench.open(FILE)
    made.other = True
    bench.work(opened.run_set.id, until=lambda: not bench.settled)
    assert bench.settled == {"agent_setup_error": 1}
    assert made.installed == 0


def test_an_agent_that_asks_models_needs_one(bench: Bench, made: Made) -> None:
    with pytest.raises(ProfileInvalid) as refused:
        bench.resolved(FILE.replace('model = "mock/m"\n', ""))
    assert refused.value.where == "profiles[0].model"


def test_another_version_is_another_configuration(bench: Bench, made: Made) -> None:
    one = bench.resolved(FILE).plan.profiles[0]
    bench.agents = lambda *_: Layered("1.3")
    other = bench.resolved(FILE).plan.profiles[0]
    assert one.configuration != other.configuration
    assert one.document["agent"] == {"name": "layered", "version": "1.2", "layer": Layered().layers[0].digest}
