"""Whether memory was the reason that something in a container was killed: an engine's event, or the kernel's count.

Docker tells an ``oom`` event for each kill. Podman has no such event, but its containers' control groups have the
kernel's own counter, which this machine can read (cgroups(7): ``memory.events``, and ``memory.oom_control`` of v1).
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.errors import SandboxError

__all__ = ["oom_kills", "ran_out_of_memory"]

_ROOT = Path("/sys/fs/cgroup")
_OOM_SECONDS = 0.5
"""How much later than the end of a killed process its engine may say that memory was the reason."""


async def ran_out_of_memory(engine: Engine, container: str, *, since: float, patient: bool) -> bool:
    """Whether the engine told of an ``oom`` of this container; events of the past are still there to be read."""
    until = time.time() + (_OOM_SECONDS if patient else 0.0)
    wanted = json.dumps({"container": [container], "event": ["oom"]})
    try:
        async with engine.send("GET", "events", filters=wanted, since=f"{since:.9f}", until=f"{until:.9f}") as answer:
            return bool((await answer.content.readline()).strip())
    except SandboxError:
        return False


async def oom_kills(engine: Engine, container: str) -> int | None:
    """The kernel's count of kills in a container that runs here; ``None`` where that can't be known."""
    try:
        state = (await engine.ask("GET", f"containers/{container}/json"))["State"]
        return _count(int(state["Pid"]))
    except (SandboxError, OSError, ValueError, KeyError):
        return None


def _count(pid: int) -> int:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return _field(_ROOT / "memory" / path.lstrip("/") / "memory.oom_control")
        if not controllers and (events := _ROOT / path.lstrip("/") / "memory.events").is_file():
            return _field(events)
    raise ValueError("no memory controller")


def _field(file: Path) -> int:
    counts = dict(line.split() for line in file.read_text().splitlines())
    return int(counts["oom_kill"])
