"""An attempt's agent and the layers that it needs: its programs, brought to this machine before any sandbox starts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from proctor.agents.errors import AgentSetupFailed
from proctor.agents.interfaces import Agent
from proctor.engine.parts import RunnerParts
from proctor.kernel.canonical import Json

__all__ = ["bring_layers", "has_layers", "make_agent"]


def has_layers(configuration: Mapping[str, Json]) -> bool:
    """Whether its agent is one with layers."""
    return _named(configuration).get("layer") is not None


def make_agent(parts: RunnerParts, configuration: Mapping[str, Json]) -> Agent:
    """The agent of a configuration at the version that it names. Blocking where that has layers.

    Raises ``ProfileInvalid``, and ``AgentSetupFailed`` where the same version is another thing on this machine.
    """
    named, options = _named(configuration), configuration["options"]
    assert isinstance(options, Mapping)
    if not has_layers(configuration):
        return parts.agents(str(named["name"]), options)
    agent = parts.agents(str(named["name"]), {**options, "agent_version": named["version"]})
    if agent.identity.layer_digest != named["layer"]:
        told = f"{named['name']} {named['version']} is made of other packages here than where the run set was planned"
        raise AgentSetupFailed(f"{told}: its lock is not the same, or this is another version of Python or Proctor.")
    return agent


async def bring_layers(parts: RunnerParts, agent: Agent) -> Mapping[str, Path]:
    """The trees of an agent's layers by where its sandbox has them, prepared if they are not there yet.

    Raises ``AgentSetupFailed``.
    """
    if parts.layers is None:
        raise AgentSetupFailed("this worker has no place for the programs of agents")
    return await asyncio.to_thread(parts.layers.prepare, agent.layers)


def _named(configuration: Mapping[str, Json]) -> Mapping[str, Json]:
    agent = configuration["agent"]
    assert isinstance(agent, Mapping)
    return agent
