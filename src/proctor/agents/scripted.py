"""``scripted`` replays commands written down per task: agents of known strength, without a model."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.agents.errors import ProfileInvalid
from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentRun, Usage
from proctor.agents.shell import command_step, limit_of
from proctor.sandboxes.interfaces import ExecRequest, ExecResult

__all__ = ["Scripted", "read_script"]


class _TaskScript(BaseModel):
    model_config = ConfigDict(extra="forbid")
    commands: list[str] = Field(default_factory=list)


class _Script(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tasks: dict[str, _TaskScript]


def read_script(path: Path) -> dict[str, list[str]]:
    """Commands by task name from ``[tasks."NAME"] commands = [...]``. Raises ``ProfileInvalid``."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        script = _Script.model_validate(document)
    except OSError as error:
        raise ProfileInvalid(f"The script can't be read: {error.strerror}.", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileInvalid(f"The script is not TOML: {error}.", where=str(path)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ProfileInvalid(f"{first['msg']}.", where=f"{path}: {place}") from error
    for name, task in script.tasks.items():
        if any("\x00" in text for text in (name, *task.commands)):
            raise ProfileInvalid("A command holds a NUL character.", where=f"{path}: tasks.{name!r}")
    return {name: task.commands for name, task in script.tasks.items()}


class Scripted:
    """Runs the task's commands one by one, whatever each one's exit code; no commands, nothing done."""

    identity = AgentIdentity(name="scripted", version="1")

    def __init__(self, script: Mapping[str, Sequence[str]]) -> None:
        """``script``: commands by task name."""
        self._script = script

    async def setup(self, context: AgentContext) -> None:
        """Nothing to bring."""
        _ = context

    async def run(self, context: AgentContext) -> AgentRun:
        """Replay the commands; the time limit holds for all of them together."""
        left = context.timeout_sec
        last: ExecResult | None = None
        for step, command in enumerate(self._script.get(context.task_name, ()), start=2):
            last = await context.sandbox.exec(self._request(context, command, left))
            if context.on_step is not None:
                context.on_step(command_step(step, command, last))
            if limit_of(last) is not None:
                break
            left = None if left is None else max(0.001, left - last.seconds)
        # A scripted agent ends well when its script does; only a limit or a kill ends it otherwise.
        ended = None if last is None else replace(last, exit_code=0) if last.exit_code is not None else last
        return AgentRun(exec=ended, limit=limit_of(last) if last else None, usage=Usage.none())

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
