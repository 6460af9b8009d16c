"""``scripted`` replays commands written down per task or step: agents of known strength, without a model."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from proctor.agents.errors import ProfileInvalid
from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Asks, Usage
from proctor.agents.layers.locks import Layer
from proctor.agents.shell import command_step, limit_of
from proctor.kernel.validation import words_of
from proctor.sandboxes.interfaces import ExecRequest, ExecResult

__all__ = ["Scripted", "TaskScript", "parse_script", "read_script", "script_document", "script_text"]


@dataclass(frozen=True, kw_only=True)
class TaskScript:
    """The commands for one task: of each step by its name, else ``commands``."""

    commands: Sequence[str] = ()
    steps: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, step: str) -> Sequence[str]:
        """The commands of a step; an empty name stands for a task without steps."""
        return self.steps.get(step, self.commands)


class _StepEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    commands: list[str]


class _TaskEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    commands: list[str] = Field(default_factory=list)
    steps: dict[str, _StepEntry] = Field(default_factory=dict)

    def script(self) -> TaskScript:
        """What the entry says."""
        return TaskScript(commands=self.commands, steps={name: step.commands for name, step in self.steps.items()})


class _Script(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tasks: dict[str, _TaskEntry]


_DOCUMENT: TypeAdapter[dict[str, list[str] | _TaskEntry]] = TypeAdapter(dict[str, list[str] | _TaskEntry])


def script_text(path: Path) -> str:
    """A script file's text. Raises ``ProfileInvalid``."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ProfileInvalid(f"The script can't be read: {error.strerror}.", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise ProfileInvalid(f"The script is not TOML: {error}.", where=str(path)) from error


def read_script(text: str, path: str) -> dict[str, TaskScript]:
    """Commands by task from ``[tasks."NAME"]`` and ``[tasks."NAME".steps."STEP"]``. Raises ``ProfileInvalid``.

    ``path``: where the text is from, for a reader.
    """
    try:
        script = _Script.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ProfileInvalid(f"The script is not TOML: {error}.", where=path) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ProfileInvalid(f"{words_of(first)}.", where=f"{path}: {place}") from error
    for name, task in script.tasks.items():
        commands = [*task.commands, *(command for step in task.steps.values() for command in step.commands)]
        if any("\x00" in text for text in (name, *commands)):
            raise ProfileInvalid("A command holds a NUL character.", where=f"{path}: tasks.{name!r}")
    return {name: task.script() for name, task in script.tasks.items()}


def script_document(script: Mapping[str, TaskScript]) -> dict[str, JsonValue]:
    """A script as an option of a configuration: a list of commands for a task, a table for one with steps."""
    return {name: _task_document(task) for name, task in script.items()}


def _task_document(task: TaskScript) -> JsonValue:
    if not task.steps:
        return list(task.commands)
    steps: dict[str, JsonValue] = {name: {"commands": list(commands)} for name, commands in task.steps.items()}
    return {"commands": list(task.commands), "steps": steps}


def parse_script(document: object) -> dict[str, TaskScript]:
    """The reverse of ``script_document``. Raises ``ProfileInvalid``."""
    try:
        read = _DOCUMENT.validate_python(document)
    except ValidationError as error:
        raise ProfileInvalid("A script is a list of commands by task, or by step of a task.", where="script") from error
    return {
        name: TaskScript(commands=entry) if isinstance(entry, list) else entry.script() for name, entry in read.items()
    }


class Scripted:
    """Runs the task's or step's commands one by one, whatever each one's exit code; no commands, nothing done."""

    identity = AgentIdentity(name="scripted", version="1")
    asks = Asks.NOTHING
    layers: tuple[Layer, ...] = ()

    def __init__(self, script: Mapping[str, TaskScript]) -> None:
        """``script``: commands by task name."""
        self._script = script

    async def setup(self, context: AgentContext) -> None:
        """Nothing to bring."""
        _ = context

    async def run(self, context: AgentContext) -> AgentRun:
        """Replay the commands; the time limit holds for all of them together."""
        left = context.timeout_sec
        last: ExecResult | None = None
        for command in self._script.get(context.task_name, TaskScript()).of(context.step):
            last = await context.sandbox.exec(self._request(context, command, left))
            self._tell(context, command, last)
            if limit_of(last) is not None:
                break
            left = None if left is None else max(0.001, left - last.seconds)
        # A scripted agent ends well when its script does; only a limit or a kill ends it otherwise.
        ended = None if last is None else replace(last, exit_code=0) if last.exit_code is not None else last
        return AgentRun(exec=ended, limit=limit_of(last) if last else None, usage=Usage.none())

    async def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def _tell(context: AgentContext, command: str, result: ExecResult) -> None:
        if context.on_step is not None:
            context.on_step(lambda number: command_step(number, command, result))

    @staticmethod
    def _request(context: AgentContext, command: str, timeout: float | None) -> ExecRequest:
        return ExecRequest(
            argv=["bash", "-c", command],
            env=context.env,
            user=context.user,
            cwd=context.workdir,
            timeout_sec=timeout,
            on_output=context.on_output,
            session="agent",
        )
