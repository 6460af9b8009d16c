"""Healthchecks: a command that must succeed before an agent, or a step of a task, begins."""

from __future__ import annotations

import asyncio

from proctor.engine.phases import exec_detail
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import ExecRequest, Sandbox
from proctor.suites.tasks import Healthcheck

__all__ = ["becomes_healthy"]


async def becomes_healthy(sandbox: Sandbox, check: Healthcheck, workdir: str, detail: dict[str, Json]) -> bool:
    """Whether the command succeeds within its retries; ``detail`` gets what the last try left."""
    for attempt in range(1, check.retries + 2):
        result = await sandbox.exec(
            ExecRequest(argv=["/bin/sh", "-c", check.command], cwd=workdir, timeout_sec=check.timeout_sec)
        )
        detail.update(exec_detail(result), tries=attempt)
        if result.exit_code == 0:
            return True
        if attempt <= check.retries:
            await asyncio.sleep(check.interval_sec)
    return False
