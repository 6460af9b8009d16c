"""What the agents that run shell commands share: a command's result as a trajectory step and as a run's end."""

from __future__ import annotations

from proctor.agents.interfaces import AgentContext, AgentLimit, AgentRun, Usage
from proctor.agents.trajectory import Observation, ObservationResult, Step, ToolCall
from proctor.sandboxes.interfaces import ExecResult, LimitKind

__all__ = ["command_step", "limit_of", "printed", "ran"]

_SHOWN: int = 16 * 1024
"""Characters of a command's output kept in its trajectory step; the whole is in the attempt's log."""


def ran(context: AgentContext, result: ExecResult, *, command: str, usage: Usage | None = None) -> AgentRun:
    """The end of an agent that is one command: its step is told and its raw result kept."""
    if context.on_step is not None:
        context.on_step(lambda number: command_step(number, command, result))
    return AgentRun(exec=result, limit=limit_of(result), usage=Usage.none() if usage is None else usage)


def command_step(step_id: int, command: str, result: ExecResult) -> Step:
    """One command and what it printed, as an agent's tool call without a model's part."""
    call = ToolCall(tool_call_id=f"call-{step_id}", function_name="bash", arguments={"command": command})
    ended = f"signal {result.signal}" if result.exit_code is None else f"exit {result.exit_code}"
    return Step(
        step_id=step_id,
        source="agent",
        message="",
        llm_call_count=0,
        tool_calls=[call],
        observation=Observation(
            results=[ObservationResult(source_call_id=call.tool_call_id, content=f"{printed(result, _SHOWN)}[{ended}]")]
        ),
    )


def limit_of(result: ExecResult) -> AgentLimit | None:
    """The agent's limit that a sandbox's limit stands for; memory is a class of its own."""
    if result.limit is LimitKind.WALL:
        return AgentLimit.TIME
    return AgentLimit.STORAGE if result.limit is LimitKind.DISK else None


def printed(result: ExecResult, at_most: int) -> str:
    """What a command printed, ``at_most`` characters of it: its beginning and its end, and what is left out between."""
    text = (result.stdout + result.stderr).decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if len(text) > at_most:
        half = at_most // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
    return f"[only the last of it was kept]\n{text}" if result.truncated else text
