"""Which tool of a request runs shell commands, and how it takes one: agents call it each by another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.kernel.canonical import Json
from proctor.models.conversation import Tool
from proctor.models.wires.fields import entry, listed, string

__all__ = ["shell_arguments", "shell_tool"]

_NAMES: tuple[str, ...] = (
    "bash",
    "shell",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "local_shell",
    "execute_bash",
    "execute_command",
    "run_command",
    "run_terminal_cmd",
    "terminal",
)
"""In lower case, the most telling first."""
_COMMANDS: tuple[str, ...] = ("command", "cmd", "commands", "script", "input")
"""Arguments by which they take a command."""
_EMPTY: Mapping[str, Json] = {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}


def shell_tool(tools: Sequence[Tool]) -> Tool | None:
    """The tool that runs shell commands; ``None`` where none looks like one."""
    by_name = {tool.name.lower(): tool for tool in reversed(tools)}
    return next((by_name[name] for name in _NAMES if name in by_name), None)


def shell_arguments(tool: Tool, command: str) -> dict[str, Json]:
    """A command as the tool's schema wants it; what else is required gets the least that its schema allows."""
    properties = entry(tool.parameters, "properties")
    name = next((name for name in _COMMANDS if name in properties), _COMMANDS[0])
    words: Json = ["bash", "-lc", command] if _kind(properties.get(name)) == "array" else command
    required = [one for one in listed(tool.parameters, "required") if isinstance(one, str) and one != name]
    return {name: words, **{one: _least(properties.get(one)) for one in required}}


def _kind(schema: Json) -> str:
    """A schema's type; of several the first."""
    return string(schema, "type") or next((one for one in listed(schema, "type") if isinstance(one, str)), "")


def _least(schema: Json) -> Json:
    allowed = listed(schema, "enum")
    return allowed[0] if allowed else _EMPTY.get(_kind(schema), "")
