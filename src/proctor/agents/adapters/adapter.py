"""The agent that every declared one is: started in the sandbox behind the bridge, its log read as it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from proctor.agents.adapters.events import StepGatherer, read_json
from proctor.agents.adapters.recipes import BASE, INSTRUCTION, MODEL, THINKING, TOKEN, Recipe, Start
from proctor.agents.errors import AgentSetupFailed, ProfileInvalid
from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Asks, ModelAccess
from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.node import NODE_PLACE, node_command
from proctor.agents.layers.python import PYTHON_PLACE, python_command
from proctor.agents.shell import command_step, limit_of
from proctor.kernel.canonical import digest
from proctor.models.wires.interfaces import WireName
from proctor.sandboxes.interfaces import LAYERS, ExecRequest, ExecResult

__all__ = ["Adapter"]

_OUTPUT: int = 64 * 1024**2
"""Bytes of JSON that are read of a chatty agent: its steps come out of them."""
_LINE: int = 8 * 1024**2
"""A longer line is no event."""
_LOG: int = 64 * 1024**2
_CHECK_SEC: float = 60.0
"""An agent's ``--version`` takes a second; on a machine under load many times that."""


class Adapter:
    """Any agent that is declared by a recipe, at the version of its layers."""

    asks = Asks.SANDBOX

    def __init__(self, recipe: Recipe, version: str, layers: tuple[Layer, ...]) -> None:
        self._recipe, self.layers = recipe, layers
        found = digest([recipe.digest, *(layer.digest for layer in layers)])
        self.identity = AgentIdentity(name=recipe.name, version=version, layer_digest=found)

    async def setup(self, context: AgentContext) -> None:
        """See that its programs run here, and write its settings. Raises ``AgentSetupFailed``."""
        models = _models(context)
        result = await _prepare(context, self._check, env=self._environment(context, models))
        if result.exit_code != 0:
            words = (result.stderr or result.stdout).decode("utf-8", "replace").strip()[-500:]
            raise AgentSetupFailed(f"{self._recipe.name} does not start in this image: {words}")
        for path, text in self._start(models).files.items():
            await self._write(context, path, _filled(text, context, models))

    async def run(self, context: AgentContext) -> AgentRun:
        """Start it behind the bridge, to its end or the time limit; its steps are told as it prints them."""
        models = _models(context)
        start = self._start(models)
        steps = StepGatherer(context.on_step, model=models.model)
        lines = _Lines(self._recipe, steps, context)
        thinking = self._recipe.thinking if models.thinking is not None else ()
        words = tuple(_filled(word, context, None) for word in (*start.words, *thinking))
        result = await context.sandbox.exec(
            ExecRequest(
                argv=[*self._bridge, models.socket, *self._program, *words],
                stdin=_filled(start.stdin, context, None).encode("utf-8", "replace"),
                env=self._environment(context, models),
                user=context.user,
                cwd=context.workdir,
                timeout_sec=context.timeout_sec,
                output_limit=_OUTPUT,
                on_output=lines.output,
                session="agent",
            )
        )
        lines.end()
        await self._read_log(context, steps)
        steps.flush()
        if not steps.told and context.on_step is not None:
            context.on_step(lambda number: command_step(number, self._recipe.name, result))
        return AgentRun(exec=result, limit=limit_of(result), usage=models.usage(), final_message=steps.final_message)

    def wire(self, provider: str) -> WireName:
        """On which wire it asks for a provider's models."""
        return self._recipe.wire(provider)

    async def close(self) -> None:
        """Nothing is held."""

    # --- its parts -------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> str:
        return f"{LAYERS}/{self._recipe.name}"

    @property
    def _bridge(self) -> tuple[str, ...]:
        if self._recipe.kind is LayerKind.NPM:
            return node_command(f"{NODE_PLACE}/bridge.mjs")
        return python_command(f"{PYTHON_PLACE}/bridge.py")

    @property
    def _program(self) -> tuple[str, ...]:
        program = self._recipe.here
        if self._recipe.kind is LayerKind.PYPI:
            return (*python_command(f"{self._place}/start.py"), program)
        if program.endswith(".js"):
            return node_command(f"{self._place}/{program}")
        return (f"{self._place}/{program}",)

    @property
    def _check(self) -> tuple[str, ...]:
        """What shows that it starts here. Python's is our own: importing an agent's packages would take seconds."""
        if self._recipe.kind is LayerKind.PYPI:
            return python_command(f"{self._place}/start.py")
        return (*self._program, "--version")

    def _start(self, models: ModelAccess) -> Start:
        provider = models.model.partition("/")[0]
        return self._recipe.starts[self._recipe.wire(provider)]

    def _environment(self, context: AgentContext, models: ModelAccess) -> dict[str, str]:
        own = {name: _filled(value, context, models) for name, value in self._start(models).env.items()}
        return {**context.env, **own}

    async def _write(self, context: AgentContext, path: str, text: str) -> None:
        folder = str(PurePosixPath(path).parent)
        writes = ("sh", "-c", 'mkdir -p "$1" && cat > "$2"', "sh", folder, path)
        result = await _prepare(context, writes, stdin=text.encode("utf-8", "replace"))
        if result.exit_code != 0:
            raise AgentSetupFailed(f"{path} could not be written: {result.stderr.decode('utf-8', 'replace')[-500:]}")

    async def _read_log(self, context: AgentContext, steps: StepGatherer) -> None:
        if self._recipe.read_file is None:
            return
        document = await context.sandbox.read(self._recipe.log, _LOG)
        for event in self._recipe.read_file(document) if document is not None else ():
            steps.add(event)


class _Lines:
    """Cuts an agent's standard output into lines and its lines into events."""

    def __init__(self, recipe: Recipe, steps: StepGatherer, context: AgentContext) -> None:
        self._recipe, self._steps, self._context = recipe, steps, context
        self._rest = b""

    def output(self, stream: str, piece: bytes) -> None:
        """Another piece of output."""
        if self._context.on_output is not None:
            self._context.on_output(stream, piece)
        if stream != "stdout":
            return
        *whole, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[-_LINE:]
        for line in whole:
            self._line(line)

    def end(self) -> None:
        """What was printed last may have no line's end."""
        self._line(self._rest)
        self._rest = b""

    def _line(self, line: bytes) -> None:
        document = read_json(line)
        for event in self._recipe.read_line(document) if document is not None else ():
            self._steps.add(event)


async def _prepare(
    context: AgentContext, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> ExecResult:
    """Run a command that is not yet the agent's."""
    request = ExecRequest(
        argv=argv,
        env=env or {},
        stdin=stdin,
        user=context.user,
        cwd="/",
        timeout_sec=_CHECK_SEC,
        session="setup",
    )
    return await context.sandbox.exec(request)


def _models(context: AgentContext) -> ModelAccess:
    if context.models is None:
        raise ProfileInvalid("This agent needs a model.", where="model")
    return context.models


def _filled(text: str, context: AgentContext, models: ModelAccess | None) -> str:
    """``models``: ``None`` where the token has no place, on a command line."""
    known: Mapping[str, str] = {
        BASE: "http://127.0.0.1:@PROCTOR_PORT@",
        MODEL: _models(context).model.partition("/")[2],
        THINKING: _models(context).thinking or "",
        **({TOKEN: models.token} if models is not None else {}),
    }
    for name, value in known.items():
        text = text.replace(name, value)
    return text.replace(INSTRUCTION, context.instruction)
