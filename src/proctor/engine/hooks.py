"""Collect hooks: commands of the task that run in the agent's sandbox, or a service beside it, when the agent is done.

They bring out what would be lost, such as a database's dump. What they leave is no more to be trusted than what the
agent left, and how they end is evidence and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from proctor.kernel.canonical import Json
from proctor.sandboxes.errors import ServiceStopped
from proctor.sandboxes.interfaces import ExecRequest, Sandbox
from proctor.suites.tasks import CollectHook

__all__ = ["run_hooks"]


async def run_hooks(sandbox: Sandbox, hooks: Sequence[CollectHook]) -> list[Json]:
    """Run each in order, whatever the one before did; how each ended. Nothing of them still runs afterwards."""
    return [await _run(sandbox, hook) for hook in hooks]


async def _run(sandbox: Sandbox, hook: CollectHook) -> Json:
    """A service whose program has ended, by the agent's doing or not, is how a hook ended and nobody's fault."""
    box = sandbox.service(hook.service)
    ended: dict[str, Json] = {"command": hook.command, "service": hook.service}
    request = ExecRequest(
        argv=["/bin/sh", "-c", hook.command], cwd=box.workdir, timeout_sec=hook.timeout_sec, session="collect"
    )
    try:
        result = await box.exec(request)
        await box.kill_session("collect")
    except ServiceStopped as error:
        return {**ended, "not_running": str(error)}
    limit = result.limit.value if result.limit else None
    return {**ended, "exit_code": result.exit_code, "signal": result.signal, "exec_limit": limit}
