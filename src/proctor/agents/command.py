"""``command`` runs one shell command in the sandbox with the instruction on its standard input."""

from __future__ import annotations

from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Usage
from proctor.agents.layers.locks import Layer
from proctor.agents.shell import ran
from proctor.sandboxes.interfaces import ExecRequest

__all__ = ["Command"]


class Command:
    """Any program as an agent. What it spends is unknown, so its usage is too."""

    identity = AgentIdentity(name="command", version="1")
    layers: tuple[Layer, ...] = ()

    def __init__(self, command: str) -> None:
        """``command`` is run by ``bash -c``; $PROCTOR_INSTRUCTION and standard input hold the instruction.

        $PROCTOR_TASK is the task's name and, where a task has steps, $PROCTOR_STEP the step's.
        """
        self._command = command

    async def setup(self, context: AgentContext) -> None:
        """Nothing to bring."""
        _ = context

    async def run(self, context: AgentContext) -> AgentRun:
        """Run the command to its end or the time limit."""
        request = ExecRequest(
            argv=["bash", "-c", self._command],
            stdin=context.instruction.encode(),
            env={**context.env, **self._told(context)},
            user=context.user,
            cwd=context.workdir,
            timeout_sec=context.timeout_sec,
            on_output=context.on_output,
            session="agent",
        )
        result = await context.sandbox.exec(request)
        return ran(context, result, command=self._command, usage=Usage())

    async def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def _told(context: AgentContext) -> dict[str, str]:
        step = {"PROCTOR_STEP": context.step} if context.step else {}
        return {"PROCTOR_INSTRUCTION": context.instruction, "PROCTOR_TASK": context.task_name, **step}
