"""Control groups, version 1 or 2, where this user may make them: kernel-held limits of memory and cpu."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proctor.sandboxes.interfaces import LimitKind

__all__ = ["ControlGroup", "available", "control_group", "leftover"]

_MOUNT = Path("/sys/fs/cgroup")
_PARENT = "proctor-sandboxes"
_PERIOD = 100_000
"""Microseconds over which a cpu quota is dealt out: the kernel's own default."""
_REMOVAL_SECONDS = 5.0
_CHARGED_AT_ONCE = 1 << 20
"""Memory is charged in pieces: what was refused need not have come up to the limit itself."""
_CONTROLLERS = {LimitKind.MEMORY: "memory", LimitKind.CPU: "cpu"}


@dataclass(frozen=True)
class _Layout:
    """Where groups are made: one folder for all controllers (v2) or one for each (v1)."""

    folders: dict[LimitKind, Path]
    unified: bool


@cache
def _layout() -> _Layout:
    unified = (_MOUNT / "cgroup.controllers").exists()
    found = {}
    for kind, controller in _CONTROLLERS.items():
        base = _MOUNT if unified else _MOUNT / controller
        folder = base / _PARENT
        if _usable(base, folder, controller, unified):
            found[kind] = folder
    return _Layout(found, unified)


def _usable(base: Path, folder: Path, controller: str, unified: bool) -> bool:
    """Try it for real: permissions, delegation and mount options all have a say."""
    try:
        if unified:
            _enable(base, controller)
        folder.mkdir(exist_ok=True)
        if unified:
            _enable(folder, controller)
        probe = Path(tempfile.mkdtemp(prefix="probe-", dir=folder))
        name = _limit_file(controller, unified)
        usable = (probe / name).exists() and os.access(probe / name, os.W_OK)
        probe.rmdir()
    except OSError:
        return False
    return usable


def _enable(folder: Path, controller: str) -> None:
    control = folder / "cgroup.subtree_control"
    if controller not in control.read_text().split():
        control.write_text(f"+{controller}")


def _limit_file(controller: str, unified: bool) -> str:
    if controller == "memory":
        return "memory.max" if unified else "memory.limit_in_bytes"
    return "cpu.max" if unified else "cpu.cfs_quota_us"


def available() -> frozenset[LimitKind]:
    """The limits that the kernel will hold for us here."""
    return frozenset(_layout().folders)


class ControlGroup:
    """One sandbox's group (version 1: one in each hierarchy)."""

    def __init__(self, name: str) -> None:
        layout = _layout()
        self._unified = layout.unified
        self._folders = {kind: folder / name for kind, folder in layout.folders.items()}

    def make(self, *, memory: int, cpus: float | None) -> None:
        """Make it with its limits; nothing is in it yet."""
        for folder in set(self._folders.values()):
            folder.mkdir(exist_ok=True)
        if LimitKind.MEMORY in self._folders:
            self._limit_memory(memory)
        if LimitKind.CPU in self._folders and cpus is not None:
            quota = max(1000, int(cpus * _PERIOD))
            self._write(LimitKind.CPU, "cpu.max" if self._unified else "cpu.cfs_quota_us", quota)

    def promise(self, *, memory: int, cpus: float) -> None:
        """What it is to keep while others want more: memory that is taken back last, and its part of the processors."""
        if LimitKind.MEMORY in self._folders:
            self._write(LimitKind.MEMORY, "memory.low" if self._unified else "memory.soft_limit_in_bytes", memory)
        if LimitKind.CPU in self._folders:
            name, whole, most = ("cpu.weight", 100, 10_000) if self._unified else ("cpu.shares", 1024, 262_144)
            self._write(LimitKind.CPU, name, min(most, max(2, round(cpus * whole))))

    def add(self, pid: int) -> None:
        """Put a process in; what it forks from then on is in as well."""
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        """How many processes the kernel has killed in it for memory."""
        folder = self._folders.get(LimitKind.MEMORY)
        if folder is None:
            return 0
        try:
            text = (folder / ("memory.events" if self._unified else "memory.oom_control")).read_text()
        except OSError:
            return 0
        counts = dict(line.split(None, 1) for line in text.splitlines())
        return int(counts.get("oom_kill", 0))

    def was_full(self) -> bool:
        """Whether it ever ran into its own limit of memory."""
        folder = self._folders.get(LimitKind.MEMORY)
        if folder is None:
            return False
        try:
            if not self._unified:  # it counts failures too, but not every kernel does so
                most, limit = (int((folder / f"memory.{n}_in_bytes").read_text()) for n in ("max_usage", "limit"))
                return most > limit - _CHARGED_AT_ONCE
            lines = (folder / "memory.events").read_text().splitlines()
        except OSError:
            return True  # it is gone: what killed it was most likely its own
        return int(dict(line.split(None, 1) for line in lines).get("oom", 0)) > 0

    def remove(self) -> None:
        """Remove it once it is empty. Safe to repeat."""
        deadline = time.monotonic() + _REMOVAL_SECONDS
        for folder in set(self._folders.values()):
            while folder.exists():
                with suppress(OSError):  # busy until the kernel has let go of the last dead process
                    folder.rmdir()
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(0.001)

    def _limit_memory(self, memory: int) -> None:
        if self._unified:
            self._write(LimitKind.MEMORY, "memory.max", memory)
            with suppress(OSError):  # a kernel without swap accounting has no such file
                self._write(LimitKind.MEMORY, "memory.swap.max", 0)
            return
        self._write(LimitKind.MEMORY, "memory.limit_in_bytes", memory)
        with suppress(OSError):
            self._write(LimitKind.MEMORY, "memory.memsw.limit_in_bytes", memory)

    def _write(self, kind: LimitKind, name: str, value: int) -> None:
        (self._folders[kind] / name).write_text(str(value))


def control_group(name: str) -> ControlGroup | None:
    """A group of that name, where any can be made."""
    return ControlGroup(name) if available() else None


def leftover(name: str) -> bool:
    """Whether a group of that name is still there."""
    return any((folder / name).exists() for folder in _layout().folders.values())
