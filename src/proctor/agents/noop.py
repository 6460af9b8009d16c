"""``noop`` does nothing; a task that it passes is broken."""

from __future__ import annotations

from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Asks, Usage
from proctor.agents.layers.locks import Layer
from proctor.agents.trajectory import Step

__all__ = ["Noop"]


class Noop:
    """Leaves the task as it found it."""

    identity = AgentIdentity(name="noop", version="1")
    asks = Asks.NOTHING
    layers: tuple[Layer, ...] = ()

    async def setup(self, context: AgentContext) -> None:
        """Nothing to bring."""
        _ = context

    async def run(self, context: AgentContext) -> AgentRun:
        """End at once, having said so."""
        message = "No operation: the task is left as it is."
        if context.on_step is not None:
            context.on_step(lambda number: Step(step_id=number, source="agent", message=message, llm_call_count=0))
        return AgentRun(usage=Usage.none(), final_message=message)

    async def close(self) -> None:
        """Nothing is held."""
