"""The five tools. Each runs in the sandbox as the agent's user; what it says back is cut to what a model can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.agents.interfaces import AgentContext
from proctor.agents.shell import printed
from proctor.kernel.canonical import Json
from proctor.models.conversation import Tool, ToolCall
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, LimitKind

__all__ = ["SUBMIT", "TOOLS", "Ran", "run_tool"]

SUBMIT: str = "submit"
SHELL_SEC: float = 120.0
"""Of one command, unless the model says otherwise: a build or a test run, not a server."""
LONGEST_SEC: float = 3600.0
SHOWN: int = 16_000
"""Characters of output that a model is shown, half from each end: about 4,000 tokens."""
LARGEST_EDIT: int = 1024 * 1024
"""Bytes of a file that can be edited in place."""
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'


def _tool(name: str, description: str, required: str, **fields: str) -> Tool:
    kinds = {"offset": "integer", "limit": "integer", "timeout_sec": "number"}
    properties: dict[str, Json] = {
        field: {"type": kinds.get(field, "string"), "description": told} for field, told in fields.items()
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": list[Json](required.split())}
    return Tool(name=name, description=description, parameters=schema)


TOOLS: tuple[Tool, ...] = (
    _tool(
        "shell",
        "Run a bash command. Each starts in the working directory, in a shell of its own.",
        "command",
        command="The command.",
        timeout_sec=f"Seconds it may take; {SHELL_SEC:.0f} by default.",
    ),
    _tool("read", "Read a text file.", "path", path="Its path.", offset="The first line.", limit="How many lines."),
    _tool(
        "write", "Write a text file, and the folders above it.", "path content", path="Its path.", content="All of it."
    ),
    _tool(
        "edit", "Replace one passage of a text file.", "path old new", path="Its path.", old="It, once.", new="By what."
    ),
    _tool(SUBMIT, "Say that the task is done. Nothing can be changed after.", "", answer="What was done, in short."),
)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a tool gave, and the result of its command where that ends the agent: the disk is full."""

    text: str
    is_error: bool = False
    ended: ExecResult | None = None


async def run_tool(call: ToolCall, context: AgentContext, left_sec: float | None) -> Ran:
    """Run one call; what the model got wrong is its to read. Raises what sandboxes raise."""
    said = {name: value if isinstance(value, str) else str(value) for name, value in call.arguments.items()}
    if call.malformed:
        return Ran(text="The arguments are no JSON object.", is_error=True)
    tool = next((one for one in TOOLS if one.name == call.name), None)
    required = tool.parameters["required"] if tool is not None else ()
    missing = [str(name) for name in required if name not in said] if isinstance(required, list) else []
    if tool is None or missing:
        return Ran(text=f"Missing: {', '.join(missing)}." if tool else f"There is no {call.name!r}.", is_error=True)
    if call.name == "shell":
        wanted = _number(call.arguments, "timeout_sec", SHELL_SEC)
        return await _shell(["bash", "-c", said["command"]], context, min(wanted, left_sec or wanted))
    if call.name == "read":
        first = max(1, int(_number(call.arguments, "offset", 1)))
        last = first + max(1, int(_number(call.arguments, "limit", 2000))) - 1
        return await _shell(["sed", "-n", f"{first},{last}p", "--", said["path"]], context, left_sec)
    if call.name == "write":
        return await _shell(["sh", "-c", _WRITE, "sh", said["path"]], context, left_sec, said["content"])
    return await _edit(said, context, left_sec)


async def _edit(said: Mapping[str, str], context: AgentContext, left_sec: float | None) -> Ran:
    found = await _exec(["head", "-c", str(LARGEST_EDIT + 1), "--", said["path"]], context, left_sec)
    text = found.stdout.decode("utf-8", "surrogateescape")
    if found.exit_code != 0 or len(found.stdout) > LARGEST_EDIT:
        return Ran(text=_shown(found) if found.exit_code else "The file is too large to edit.", is_error=True)
    if text.count(said["old"]) != 1 or not said["old"]:
        return Ran(text=f"`old` is in the file {text.count(said['old'])} times, not once.", is_error=True)
    new = text.replace(said["old"], said["new"])
    return await _shell(["sh", "-c", _WRITE, "sh", said["path"]], context, left_sec, new)


async def _shell(argv: list[str], context: AgentContext, timeout: float | None, stdin: str = "") -> Ran:
    result = await _exec(argv, context, timeout, stdin)
    full = result.limit is LimitKind.DISK
    return Ran(text=_shown(result), is_error=result.exit_code != 0, ended=result if full else None)


async def _exec(argv: list[str], context: AgentContext, timeout: float | None, stdin: str = "") -> ExecResult:
    request = ExecRequest(
        argv=argv,
        stdin=stdin.encode("utf-8", "surrogateescape"),
        env=context.env,
        user=context.user,
        cwd=context.workdir,
        timeout_sec=timeout,
        on_output=context.on_output,
        session="agent",
    )
    return await context.sandbox.exec(request)


def _shown(result: ExecResult) -> str:
    """What a command printed and how it ended, as a model reads it."""
    text = printed(result, SHOWN)
    why = "out of memory" if result.oom else f"limit: {result.limit}" if result.limit else f"exit {result.exit_code}"
    return f"{text}[{why}]" if result.exit_code != 0 or not text else text


def _number(arguments: Mapping[str, Json], name: str, default: float) -> float:
    value = arguments.get(name)
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LONGEST_SEC * 1000
    return float(value) if fits and isinstance(value, int | float) else default
