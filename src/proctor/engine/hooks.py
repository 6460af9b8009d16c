"""Collect hooks: commands of the task that run in the agent's sandbox when the agent is done.

They bring out what would be lost, such as a database's dump. What they leave is no more to be trusted than what the
agent left, and how they end is evidence and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import ExecRequest, Sandbox
from proctor.suites.tasks import CollectHook

__all__ = ["run_hooks"]


async def run_hooks(sandbox: Sandbox, hooks: Sequence[CollectHook], workdir: str) -> list[Json]:
    """Run each in order, whatever the one before did; how each ended. Nothing of them still runs afterwards."""
    ended: list[Json] = []
    for hook in hooks:
        result = await sandbox.exec(
            ExecRequest(
                argv=["/bin/sh", "-c", hook.command], cwd=workdir, timeout_sec=hook.timeout_sec, session="collect"
            )
        )
        await sandbox.kill_session("collect")
        limit = result.limit.value if result.limit else None
        ended.append(
            {"command": hook.command, "exit_code": result.exit_code, "signal": result.signal, "exec_limit": limit}
        )
    return ended
