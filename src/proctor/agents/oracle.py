"""``oracle`` runs the task's reference solution; it shows that a task can be passed."""

from __future__ import annotations

from pathlib import Path

from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Asks
from proctor.agents.layers.locks import Layer
from proctor.agents.shell import ran
from proctor.kernel.errors import UsageError
from proctor.sandboxes.interfaces import ExecRequest

__all__ = ["Oracle", "SolutionMissing"]

_HOME: str = "/solution"
"""Where the field's tasks expect the reference solution."""
_SOLUTION: str = "solve.sh"


class SolutionMissing(UsageError):
    """The task has no reference solution, so the oracle can't sit it."""

    code = "solution-missing"
    remedy = "Add solution/solve.sh to the task, or leave the oracle out."


class Oracle:
    """Runs ``solution/solve.sh``, or another script of that folder."""

    identity = AgentIdentity(name="oracle", version="1")
    asks = Asks.NOTHING
    layers: tuple[Layer, ...] = ()

    def __init__(self, script: str = _SOLUTION) -> None:
        """``script`` is another file of the solution folder, such as the author's ``wrong.sh``.

        In a step that has no such file the reference solution is run: one wrong step makes a wrong solution.
        """
        self._script = script

    async def setup(self, context: AgentContext) -> None:
        """Say at once that there is no solution; each run brings its own."""
        self._chosen(context)

    async def run(self, context: AgentContext) -> AgentRun:
        """Bring the solution in, where no other agent ever has it, and run it to its end or the time limit."""
        folder, script = self._chosen(context)
        if context.step:  # an earlier step's solution may still be there
            await context.sandbox.exec(
                ExecRequest(argv=["rm", "-rf", _HOME], user=context.user, cwd="/", session="agent")
            )
        await context.sandbox.put(folder, _HOME, user=context.user)
        request = ExecRequest(
            argv=["bash", f"{_HOME}/{script}"],
            env={**context.env, **context.solution_env},
            user=context.user,
            cwd=context.workdir,
            timeout_sec=context.timeout_sec,
            on_output=context.on_output,
            session="agent",
        )
        result = await context.sandbox.exec(request)
        return ran(context, result, command=f"bash {_HOME}/{script}")

    async def close(self) -> None:
        """Nothing is held."""

    def _chosen(self, context: AgentContext) -> tuple[Path, str]:
        """The solution's folder and the script of it that is run. Raises ``SolutionMissing``."""
        for script in (self._script, _SOLUTION) if context.step else (self._script,):
            if context.solution is not None and (context.solution / script).is_file():
                return context.solution, script
        step = f", step {context.step}" if context.step else ""
        raise SolutionMissing(where=f"{context.task_name}{step}: solution/{self._script}")
