"""The trajectory of one attempt, gathered as it happens: every step gets its number here."""

from __future__ import annotations

from uuid import UUID

from proctor.agents.interfaces import AgentIdentity, StepMaker
from proctor.agents.trajectory import Agent, FinalMetrics, Step, Trajectory

__all__ = ["TrajectoryGatherer"]


class TrajectoryGatherer:
    """Instructions and the agent's steps in the order in which they come, numbered from 1."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def __len__(self) -> int:
        """How many steps there are so far."""
        return len(self._steps)

    def instruct(self, instruction: str) -> None:
        """The agent is given an instruction: the task's, or the next step's."""
        self.add(lambda number: Step(step_id=number, source="user", message=instruction))

    def add(self, make: StepMaker) -> None:
        """One step of the agent."""
        self._steps.append(make(len(self._steps) + 1))

    def gathered(self, attempt: UUID, identity: AgentIdentity | None, model: str | None) -> Trajectory:
        """The whole; a trajectory has at least one step, so one of an agent that never began says so."""
        if not self._steps:
            message = "The attempt ended before the agent began."
            self.add(lambda number: Step(step_id=number, source="system", message=message))
        return Trajectory(
            session_id=str(attempt),
            agent=Agent(
                name=identity.name if identity else "none",
                version=identity.version if identity else "0",
                model_name=model,
            ),
            steps=self._steps,
            final_metrics=FinalMetrics(total_steps=len(self._steps)),
        )
