"""The trajectory of one attempt, gathered as it happens: every step gets its number here.

Whoever watches reads it in segments, one step a line, while the attempt runs; of one that has ended the whole document
is kept, and the segments say nothing more than it does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from proctor.agents.interfaces import AgentIdentity, StepMaker, Usage
from proctor.agents.trajectory import Agent, FinalMetrics, Metrics, Step, Trajectory
from proctor.engine.secrets import scrub_document
from proctor.engine.segments import Segments, read_segments
from proctor.kernel.canonical import Json
from proctor.kernel.money import NANO
from proctor.kernel.sums import added
from proctor.objects.store import ObjectStore

__all__ = ["TrajectoryGatherer", "steps_so_far"]

KIND: str = "trajectory"
"""Of its segments."""


class TrajectoryGatherer:
    """Instructions and the agent's steps in the order in which they come, numbered from 1."""

    def __init__(self, objects: ObjectStore, tenant: UUID, attempt: UUID, secrets: Collection[str]) -> None:
        self._steps: list[Step] = []
        self._segments, self._secrets = Segments(objects, tenant, attempt, KIND), secrets

    def __len__(self) -> int:
        """How many steps there are so far."""
        return len(self._steps)

    def instruct(self, instruction: str) -> None:
        """The agent is given an instruction: the task's, or the next step's."""
        self.add(lambda number: Step(step_id=number, source="user", message=instruction))

    def add(self, make: StepMaker) -> None:
        """One step of the agent."""
        step = make(len(self._steps) + 1)
        self._steps.append(step)
        if not self._segments.is_full:
            line = step.model_dump_json(exclude_none=True).encode()
            self._segments.add(scrub_document(line, self._secrets) + b"\n")

    async def close(self) -> None:
        """No more steps. What waits for a segment is not written: the whole document will have it."""
        await self._segments.close(rest=False)

    def gathered(
        self, attempt: UUID, identity: AgentIdentity | None, model: str | None, usage: Usage | None = None
    ) -> Trajectory:
        """The whole; a trajectory has at least one step, so one of an agent that never began says so.

        ``usage``: by the gateway's count; ``None``: the sums are those of the steps that say what they used.
        """
        if not self._steps:
            message = "The attempt ended before the agent began."
            self._steps.append(Step(step_id=1, source="system", message=message))
        return Trajectory(
            session_id=str(attempt),
            agent=Agent(
                name=identity.name if identity else "none",
                version=identity.version if identity else "0",
                model_name=model,
            ),
            steps=self._steps,
            final_metrics=_final(self._steps, usage),
        )


def _final(steps: list[Step], usage: Usage | None) -> FinalMetrics:
    if usage is not None:
        cost = usage.cost_nano
        return FinalMetrics(
            total_prompt_tokens=added(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
            total_completion_tokens=usage.output_tokens,
            total_cached_tokens=usage.cache_read_tokens,
            total_cost_usd=None if cost is None else cost / NANO,
            total_steps=len(steps),
        )
    told = [step.metrics for step in steps if step.metrics is not None and not step.is_copied_context]
    return FinalMetrics(
        total_prompt_tokens=_sum(told, "prompt_tokens"),
        total_completion_tokens=_sum(told, "completion_tokens"),
        total_cached_tokens=_sum(told, "cached_tokens"),
        total_steps=len(steps),
    )


def _sum(told: list[Metrics], name: str) -> int | None:
    """Over the steps that say; ``None`` where none does."""
    values = [value for one in told if (value := getattr(one, name)) is not None]
    return sum(values) if values else None


def steps_so_far(
    objects: ObjectStore, tenant: UUID, attempt: UUID, whole: bytes | None, *, after: int = 0
) -> Iterator[Mapping[str, Json]]:
    """The steps numbered above ``after``: of the whole document where there is one, else of the segments."""
    if whole is not None:
        steps = json.loads(whole)["steps"]
    else:
        segments = read_segments(objects, tenant, attempt, kind=KIND)
        steps = [json.loads(line) for _, segment in segments for line in segment.splitlines()]
    yield from (step for step in steps if step["step_id"] > after)
