"""``command`` runs one shell command in the sandbox with the instruction on its standard input."""

from __future__ import annotations

from importlib.resources import files

from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Asks, ModelAccess, Usage
from proctor.agents.layers.locks import Layer
from proctor.agents.shell import ran
from proctor.sandboxes.interfaces import ExecRequest

__all__ = ["Command"]

_PORT = "http://127.0.0.1:@PROCTOR_PORT@"
_CHECK_SEC: float = 60.0
"""In which a sandbox says whether it has a Python; it takes milliseconds."""


class Command:
    """Any program as an agent. Where its profile has a model, the gateway answers it at the addresses of its
    environment, and counts what it uses; else what it spends is unknown, and so is its usage."""

    identity = AgentIdentity(name="command", version="1")
    asks = Asks.SANDBOX
    layers: tuple[Layer, ...] = ()

    def __init__(self, command: str) -> None:
        """``command`` is run by ``bash -c``; $PROCTOR_INSTRUCTION and standard input hold the instruction.

        $PROCTOR_TASK is the task's name and, where a task has steps, $PROCTOR_STEP the step's. $PROCTOR_MODEL,
        $PROCTOR_MODEL_SOCKET and $PROCTOR_MODEL_TOKEN lead to its model; where the sandbox has a Python the variables
        by which the clients of OpenAI, Anthropic and Google are told where to go do as well.
        """
        self._command = command

    async def setup(self, context: AgentContext) -> None:
        """Nothing to bring."""
        _ = context

    async def run(self, context: AgentContext) -> AgentRun:
        """Run the command to its end or the time limit."""
        argv, env = ["bash", "-c", self._command], dict[str, str]()
        if context.models is not None:
            env |= _found(context.models)
            if await self._has_python(context):
                bridge = files("proctor.agents.layers").joinpath("bridge.py").read_text(encoding="utf-8")
                argv = ["python3", "-c", bridge, context.models.socket, *argv]
                env |= _addresses(context.models)
        request = ExecRequest(
            argv=argv,
            stdin=context.instruction.encode(),
            env={**env, **context.env, **self._told(context)},
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
    async def _has_python(context: AgentContext) -> bool:
        request = ExecRequest(
            argv=["sh", "-c", "command -v python3"], user=context.user, timeout_sec=_CHECK_SEC, session="setup"
        )
        return (await context.sandbox.exec(request)).exit_code == 0

    @staticmethod
    def _told(context: AgentContext) -> dict[str, str]:
        step = {"PROCTOR_STEP": context.step} if context.step else {}
        return {"PROCTOR_INSTRUCTION": context.instruction, "PROCTOR_TASK": context.task_name, **step}


def _found(models: ModelAccess) -> dict[str, str]:
    """Where the model is, for programs that speak HTTP over a Unix socket."""
    name = models.model.partition("/")[2]
    return {"PROCTOR_MODEL": name, "PROCTOR_MODEL_SOCKET": models.socket, "PROCTOR_MODEL_TOKEN": models.token}


def _addresses(models: ModelAccess) -> dict[str, str]:
    """The variables that the field's clients read; the bridge puts its port in."""
    return {
        "OPENAI_BASE_URL": f"{_PORT}/v1",
        "OPENAI_API_KEY": models.token,
        "ANTHROPIC_BASE_URL": _PORT,
        "ANTHROPIC_API_KEY": models.token,
        "GOOGLE_GEMINI_BASE_URL": _PORT,
        "GEMINI_API_KEY": models.token,
    }
