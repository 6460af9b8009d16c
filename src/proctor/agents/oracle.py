"""``oracle`` runs the task's reference solution; it shows that a task can be passed."""

from __future__ import annotations

from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun
from proctor.agents.shell import ran
from proctor.kernel.errors import UsageError
from proctor.sandboxes.interfaces import ExecRequest

__all__ = ["Oracle", "SolutionMissing"]

_HOME: str = "/solution"
"""Where the field's tasks expect the reference solution."""


class SolutionMissing(UsageError):
    """The task has no reference solution, so the oracle can't sit it."""

    code = "solution-missing"
    remedy = "Add solution/solve.sh to the task, or leave the oracle out."


class Oracle:
    """Runs ``solution/solve.sh``, or another script of that folder."""

    identity = AgentIdentity(name="oracle", version="1")

    def __init__(self, script: str = "solve.sh") -> None:
        """``script`` is another file of the solution folder, such as the author's ``wrong.sh``."""
        self._script = script

    async def setup(self, context: AgentContext) -> None:
        """Copy the solution in; it was never there for any other agent."""
        if context.solution is None or not (context.solution / self._script).is_file():
            raise SolutionMissing(where=f"{context.task_name}: solution/{self._script}")
        await context.sandbox.put(context.solution, _HOME, user=context.user)

    async def run(self, context: AgentContext) -> AgentRun:
        """Run the solution to its end or the time limit."""
        request = ExecRequest(
            argv=["bash", f"{_HOME}/{self._script}"],
            env={**context.env, **context.solution_env},
            user=context.user,
            cwd=context.workdir,
            timeout_sec=context.timeout_sec,
            on_output=context.on_output,
            session="agent",
        )
        result = await context.sandbox.exec(request)
        return ran(context, result, command=f"bash {_HOME}/{self._script}", step=2)
