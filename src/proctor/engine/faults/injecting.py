"""Where faults come in: the parts of one attempt, wrapped where its configuration plans a fault for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proctor.agents.interfaces import Agent
from proctor.engine.assignments import Assignment
from proctor.engine.faults.agents import FaultyAgent
from proctor.engine.faults.hits import Hit
from proctor.engine.faults.plan import planned_faults
from proctor.engine.faults.sandboxes import FaultyBackend
from proctor.engine.parts import RunnerParts
from proctor.engine.service_faults import ServiceFaults
from proctor.kernel.canonical import Json

__all__ = ["with_faults"]


def with_faults(parts: RunnerParts, assignment: Assignment) -> RunnerParts:
    """The parts for an attempt: as they are, unless an entry of its configuration's fault plan may hit it.

    What a verifier that crashes on purpose says of the reference solution is kept from the other attempts, and so is
    what a service does then.
    """
    planned = planned_faults(assignment.configuration)
    candidates = [one for one in planned if one.may_hit(assignment.cell, assignment.number)]
    if not candidates:
        return parts
    hit = Hit(candidates, assignment, parts.library)

    def agents(name: str, options: Mapping[str, Json]) -> Agent:
        return FaultyAgent(parts.agents(name, options), hit)

    backend, kept_apart = FaultyBackend(parts.backend, hit), ServiceFaults()
    return replace(parts, backend=backend, agents=agents, remarks=hit.remarks, references={}, services=kept_apart)
