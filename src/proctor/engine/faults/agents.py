"""An agent whose provider refuses it, or whose worker is lost while it works."""

from __future__ import annotations

from proctor.agents.errors import ProviderFailed
from proctor.agents.interfaces import Agent, AgentContext, AgentIdentity, AgentRun, Asks
from proctor.agents.layers.locks import Layer
from proctor.engine.faults.hits import Hit
from proctor.engine.faults.plan import FaultKind

__all__ = ["FaultyAgent", "WorkerLost"]


class WorkerLost(BaseException):
    """Ends an attempt as a kill does: no phase catches it, nothing is recorded, and the lease is left to end."""


class FaultyAgent:
    """Another agent but for the faults of one attempt."""

    def __init__(self, agent: Agent, hit: Hit) -> None:
        self._agent, self._hit = agent, hit

    @property
    def identity(self) -> AgentIdentity:
        """The real one's."""
        return self._agent.identity

    @property
    def asks(self) -> Asks:
        """As the real one."""
        return self._agent.asks

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The real one's."""
        return self._agent.layers

    async def setup(self, context: AgentContext) -> None:
        """The real one's."""
        await self._agent.setup(context)

    async def run(self, context: AgentContext) -> AgentRun:
        """Work on the task, unless the provider is to refuse or the worker to be lost: then nothing is done."""
        self._refused()
        if self._hit.makes(FaultKind.LOST_WORKER):
            await context.sandbox.destroy()  # as a dead worker's sandboxes go before its cells may run again
            raise WorkerLost("on purpose")
        return await self._agent.run(context)

    async def close(self) -> None:
        """The real one's."""
        await self._agent.close()

    def _refused(self) -> None:
        """Raise ``ProviderFailed`` as the model gateway does when the last call of an attempt was refused."""
        if self._hit.makes(FaultKind.RATE_LIMIT):
            assert self._hit.fault is not None
            raise ProviderFailed("Too many requests.", http_status=429, retry_after=self._hit.fault.retry_after_sec)
        if self._hit.makes(FaultKind.AUTH_ERROR):
            raise ProviderFailed("The key was not accepted.", http_status=401)
