"""Healthchecks: a command that must succeed before an agent, or a step of a task, begins.

As Docker has it: a probe that began within the start period counts for nothing if it fails, and the next follows after
the start interval; later ones follow after the interval, and ``retries`` failures in a row are the end. Docker waits
one interval before its first probe. Here one is made at once, so that what is ready waits for nothing; if it fails it
counts for nothing either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from proctor.engine.phases import exec_detail
from proctor.kernel.canonical import Json
from proctor.kernel.clock import Clock
from proctor.sandboxes.interfaces import ExecRequest, Sandbox
from proctor.suites.tasks import Healthcheck

__all__ = ["becomes_healthy"]


async def becomes_healthy(
    sandbox: Sandbox,
    check: Healthcheck,
    workdir: str,
    detail: dict[str, Json],
    *,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> bool:
    """Whether the command succeeds before its failures are too many; ``detail`` gets what the last try left."""
    began, tries, failures = clock.monotonic(), 0, 0
    while True:
        tries += 1
        starting = clock.monotonic() - began < check.start_period_sec
        result = await sandbox.exec(
            ExecRequest(argv=["/bin/sh", "-c", check.command], cwd=workdir, timeout_sec=check.timeout_sec)
        )
        detail.update(exec_detail(result), tries=tries)
        if result.exit_code == 0:
            return True
        failures += not (starting or tries == 1)
        if failures >= check.retries:
            return False
        still_starting = clock.monotonic() - began < check.start_period_sec
        await sleep(check.start_interval_sec if still_starting else check.interval_sec)
