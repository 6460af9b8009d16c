"""Which agents there are, and an agent from a profile's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from proctor.agents.adapters.adapter import Adapter
from proctor.agents.adapters.catalogue import RECIPES
from proctor.agents.adapters.versions import layers_of
from proctor.agents.command import Command
from proctor.agents.errors import ProfileInvalid
from proctor.agents.harbor.agent import PREFIX, build_harbor
from proctor.agents.interfaces import Agent
from proctor.agents.layers.store import LayerStore
from proctor.agents.loop import Loop, LoopSettings
from proctor.agents.noop import Noop
from proctor.agents.oracle import Oracle
from proctor.agents.scripted import Scripted, parse_script
from proctor.kernel.canonical import Json

__all__ = ["AGENTS", "AgentKind", "build_agent"]


@dataclass(frozen=True, kw_only=True)
class AgentKind:
    """One line of ``proctor profile list``."""

    name: str
    summary: str
    needs: str
    reports: str
    any_model: bool = False
    """Whether it takes a model of any provider."""


AGENTS: tuple[AgentKind, ...] = (
    AgentKind(name="oracle", summary="runs the reference solution", needs="", reports="steps; no model"),
    AgentKind(name="noop", summary="does nothing", needs="", reports="steps; no model"),
    AgentKind(name="scripted", summary="replays commands per task", needs="script", reports="steps; no model"),
    AgentKind(
        name="command",
        summary="runs one shell command",
        needs="command",
        reports="steps; usage where its model is reached through the gateway",
        any_model=True,
    ),
    AgentKind(
        name="loop",
        summary="a model with five tools: shell, read, write, edit, submit",
        needs="model",
        reports="steps with tokens and costs",
        any_model=True,
    ),
    *(
        AgentKind(name=one.name, summary=f"{one.summary}, from {one.kind.value}", needs="model", reports=one.reports)
        for one in RECIPES.values()
    ),
)
"""Every agent of this installation."""


_OPENHANDS: str = (
    "openhands needs Python 3.12 or later; this release has no adapter for it, and its versions for older Pythons are "
    "too old to be compared. With Proctor on Python 3.12, the harbor extra runs it as 'harbor:openhands'."
)


def build_agent(name: str, options: Mapping[str, Json], layers: LayerStore | None = None) -> Agent:
    """An agent from its name and the options of its configuration, ``agent_version`` among them.

    ``layers``: where versions that the release does not know are resolved. Blocks while a registry is asked. Raises
    ``ProfileInvalid``, ``LayerFailed``.
    """
    if name in RECIPES:
        wanted = options.get("agent_version")
        version, found = layers_of(RECIPES[name], str(wanted) if wanted is not None else None, layers)
        return Adapter(RECIPES[name], version, found)
    if name.startswith(PREFIX):
        return build_harbor(name)
    if name == "openhands":
        raise ProfileInvalid(_OPENHANDS, where="agent")
    if options.get("agent_version") is not None:
        raise ProfileInvalid(f"{name} has no version of its own.", where="agent_version")
    return _own(name, options)


def _own(name: str, options: Mapping[str, Json]) -> Agent:
    if name == "oracle":
        return Oracle(str(options.get("script", "solve.sh")))
    if name == "noop":
        return Noop()
    if name == "scripted":
        script = options.get("script")
        if not isinstance(script, Mapping):
            raise ProfileInvalid("A scripted agent needs its script.", where="script")
        return Scripted(parse_script(script))
    if name == "command":
        return Command(str(options["command"]))
    if name == "loop":
        limits = options.get("limits")
        return Loop(_loop_settings(limits if isinstance(limits, Mapping) else {}))
    known = ", ".join(kind.name for kind in AGENTS)
    raise ProfileInvalid(f"There is no agent {name!r}; there are {known}.", where="agent")


def _loop_settings(limits: Mapping[str, Json]) -> LoopSettings:
    said = {field.name: limits.get(field.name) for field in fields(LoopSettings)}
    return LoopSettings(**{name: value for name, value in said.items() if isinstance(value, int)})
