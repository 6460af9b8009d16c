"""Reads what this machine has and uses: /proc, control groups of version 1 or 2, pressure, and the sandboxes' disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import iglob
from pathlib import Path

from proctor.kernel.clock import Clock

__all__ = ["Disk", "Memory", "NodeReader", "Reading"]

_MB = 1024**2
_SANDBOXES = ("proctor-sandboxes/*", "docker/*", "system.slice/docker-*.scope")
"""Where control groups of sandboxes are, below the root of their hierarchy: ours, and those of a container engine."""
_UNLIMITED = 1 << 60
"""Version 1 says a number beyond any machine where there is no limit."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory of this machine, or of the control group that this process may not leave, whichever is smaller."""

    total_mb: float
    free_mb: float
    """What can be had without swapping: page cache that can be dropped counts as free."""
    promised_mb: float = 0.0
    """What sandboxes were promised (their soft limit) and do not use yet."""
    sandboxes_mb: float = 0.0
    """What sandboxes use, as far as their control groups can be read."""
    pressure: float | None = None
    """Percent of the last ten seconds in which everything waited for memory; ``None``: the kernel does not say."""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """The filesystem that sandboxes fill."""

    total_mb: float
    free_mb: float


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A node at one moment. ``None``: it could not be read."""

    taken: float
    """Seconds of a clock that only grows."""
    cpus: float
    memory: Memory | None
    disk: Disk | None


class NodeReader:
    """Reads a node. ``disk``: a folder that sandboxes fill, ``None`` where it is not on this machine.

    ``own_group``: whether the limits of this process's control group hold for its sandboxes too. ``root``: where
    ``/proc`` and ``/sys`` are; tests have their own.
    """

    def __init__(self, clock: Clock, disk: Path | None, *, own_group: bool, root: Path = Path("/")) -> None:
        self._clock, self._disk, self._own_group, self._root = clock, disk, own_group, root

    def read(self) -> Reading:
        """What there is now. Whatever can't be read is ``None``."""
        taken = self._clock.monotonic()
        return Reading(taken=taken, cpus=self._cpus(), memory=self._memory(), disk=self._free_disk())

    # --- memory -----------------------------------------------------------------------------------------------------

    def _memory(self) -> Memory | None:
        try:
            lines = (self._root / "proc/meminfo").read_text(encoding="ascii").splitlines()
            found = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
            total, free = found["MemTotal"], found["MemAvailable"]
        except (OSError, ValueError, LookupError):
            return None
        for limit, used in self._own_memory():
            total, free = min(total, limit), min(free, limit - used)
        promises = list(self._promises())
        return Memory(
            total_mb=total / _MB,
            free_mb=free / _MB,
            promised_mb=sum(max(0, promise - used) for promise, used in promises) / _MB,
            sandboxes_mb=sum(used for _, used in promises) / _MB,
            pressure=self._pressure(),
        )

    def _own_memory(self) -> Iterator[tuple[int, int]]:
        """Limit and use of each control group that this process is in."""
        for group in self._own_groups("memory"):
            limit = _number(group, "memory.max", "memory.limit_in_bytes")
            used = _used(group)
            if limit is not None and limit < _UNLIMITED and used is not None:
                yield limit, used

    def _promises(self) -> Iterator[tuple[int, int]]:
        """Soft limit and use of each sandbox whose control group can be read."""
        for base in self._hierarchies("memory"):
            for pattern in _SANDBOXES:
                for group in iglob(f"{base}/{pattern}"):
                    promise = _number(group, "memory.low", "memory.soft_limit_in_bytes") or 0
                    used = _used(group)
                    if used is not None:
                        yield (promise if promise < _UNLIMITED else 0), used

    def _pressure(self) -> float | None:
        try:
            lines = (self._root / "proc/pressure/memory").read_text(encoding="ascii").splitlines()
            full = next(line for line in lines if line.startswith("full"))
            return float(dict(part.split("=") for part in full.split()[1:])["avg10"])
        except (OSError, ValueError, LookupError, StopIteration):
            return None

    # --- processors and disk ----------------------------------------------------------------------------------------

    def _cpus(self) -> float:
        found = float(len(os.sched_getaffinity(0)))
        for group in self._own_groups("cpu"):
            found = min(found, _quota(group) or found)
        return found

    def _free_disk(self) -> Disk | None:
        if self._disk is None:
            return None
        try:
            there = next(path for path in (self._disk, *self._disk.parents) if path.exists())
            seen = os.statvfs(there)
        except (OSError, StopIteration):
            return None
        size = seen.f_frsize / _MB
        return Disk(total_mb=seen.f_blocks * size, free_mb=seen.f_bavail * size)

    # --- control groups ---------------------------------------------------------------------------------------------

    def _hierarchies(self, controller: str) -> list[Path]:
        """The roots of the hierarchies that hold a controller: one of version 2, or the controller's own."""
        base = self._root / "sys/fs/cgroup"
        return [base] if (base / "cgroup.controllers").exists() else [base / controller]

    def _own_groups(self, controller: str) -> Iterator[str]:
        """The groups that this process is in, up to the root; of a container whose path is not mounted the root."""
        if not self._own_group:
            return
        own = self._own_path(controller)
        for base in self._hierarchies(controller):
            below = base / own
            for group in (below, *below.parents):
                if group.is_dir():
                    yield str(group)
                if group == base:
                    break

    def _own_path(self, controller: str) -> str:
        try:
            lines = (self._root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        except OSError:
            return ""
        fields = [line.split(":", 2) for line in lines]
        of_controller = [path for _, names, path in fields if controller in names.split(",")]
        unified = [path for _, names, path in fields if not names]
        return (of_controller or unified or [""])[0].lstrip("/")


def _text(path: str) -> str | None:
    """A small file's text; ``None`` where it can't be read. No ``Path``: hundreds of these are read for a claim."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _number(group: str, *names: str) -> int | None:
    """The first of these files that is there; ``None`` for ``max``, and where there is none."""
    for name in names:
        if (text := _text(f"{group}/{name}")) is not None:
            return int(text) if text.strip().isdigit() else None
    return None


def _used(group: str) -> int | None:
    """What a group holds, without page cache that is dropped as soon as somebody needs room."""
    used = _number(group, "memory.current", "memory.usage_in_bytes")
    if not used or (stat := _text(f"{group}/memory.stat")) is None:
        return used
    found = dict(line.split(None, 1) for line in stat.splitlines())
    return max(0, used - int(found.get("total_inactive_file", found.get("inactive_file", "0"))))


def _quota(group: str) -> float | None:
    """Processors that a group may use; ``None``: no limit."""
    if (text := _text(f"{group}/cpu.max")) is not None:
        quota, period = text.split()
        return int(quota) / int(period) if quota.isdigit() else None
    found, length = _number(group, "cpu.cfs_quota_us"), _number(group, "cpu.cfs_period_us")
    return found / length if found and length else None
