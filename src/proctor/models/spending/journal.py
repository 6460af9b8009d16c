"""A process's journal: what it has begun and what ended, on this machine's disk before anybody else hears of it.

One line is one ``write``, so a process that is killed loses nothing that it did: the kernel has the line. Nothing is
synced: a machine that loses its power may lose the last lines, and ``reconciling.py`` says what follows from that. Who
is alive holds a lock on its file, which the kernel takes away in the moment that the process dies, whatever its pid.

What has been written to the database is not needed any more. When the file is long, what still is goes into a new one
that takes its place.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from proctor.models.codec import write_json
from proctor.models.spending.accounts import Holder

__all__ = ["SUFFIX", "Journal", "boot_id"]

SUFFIX: str = ".journal"
ROTATED_BYTES: int = 4 * 2**20
"""Some four thousand calls: read in a moment by whoever reconciles, and seldom written anew."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Which start of this machine it is; empty where the machine does not say."""
    return _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""


class Journal:
    """Of one process. Used from one thread."""

    def __init__(self, folder: Path, holder: Holder) -> None:
        """The folder is made for this user alone where it is not there."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{holder.id}{SUFFIX}"
        started = holder.started.isoformat()
        who = {"process": str(holder.id), "host": holder.host, "pid": holder.pid, "started": started}
        self._head = _line({"t": "head", "boot": boot_id(), **who})
        self._slices: dict[UUID, bytes] = {}
        self._begun: dict[int, bytes] = {}
        self._ended: dict[int, bytes] = {}
        self._torn = False
        self._file = _new_file(self._path)
        self._size = 0
        self._append(self._head)

    def asked(self, tenant: UUID, slice: UUID) -> None:
        """A slice is about to be drawn: whoever reconciles knows where to look for it."""
        self._note_slice(slice, {"t": "slice", "tenant": str(tenant), "slice": str(slice), "accounts": None})

    def drawn(self, tenant: UUID, slice: UUID, accounts: Iterable[tuple[str, str, str]]) -> None:
        """It was drawn, of these accounts."""
        line = {"t": "slice", "tenant": str(tenant), "slice": str(slice), "accounts": list(accounts)}
        self._note_slice(slice, line)

    def finished(self, slice: UUID) -> None:
        """Nothing of it is left, here or there."""
        self._slices.pop(slice, None)

    def begin(self, reservation: int, line: Mapping[str, Any]) -> None:
        """A call is about to be made."""
        written = _line({"t": "begin", "r": reservation, **line})
        self._append(written)
        self._begun[reservation] = written

    def end(self, reservation: int, row: Mapping[str, Any]) -> None:
        """It ended. Kept for the next file even where there is no room in this one."""
        self._ended[reservation] = written = _line({"t": "end", "r": reservation, "row": row})
        self._append(written)

    def undo(self, reservation: int) -> None:
        """It was never made."""
        self._append(_line({"t": "undo", "r": reservation}))
        self._begun.pop(reservation, None)

    def settled(self, reservations: Iterable[int]) -> None:
        """They are in the database."""
        for reservation in reservations:
            self._begun.pop(reservation, None)
            self._ended.pop(reservation, None)
        if self._size > ROTATED_BYTES:
            self._rotate()

    def close(self) -> bool:
        """Remove it if nothing of it is needed any more; returns whether it is gone."""
        needed = self._slices or self._begun or self._ended
        if not needed:
            self._path.unlink(missing_ok=True)
        os.close(self._file)
        return not needed

    def _note_slice(self, slice: UUID, line: Mapping[str, Any]) -> None:
        written = _line(line)
        self._append(written)
        self._slices[slice] = written

    def _append(self, line: bytes) -> None:
        """Raises OSError where the disk is full; the next line then begins on a line of its own."""
        whole = b"\n" + line if self._torn else line
        self._torn = True
        if os.write(self._file, whole) != len(whole):
            raise OSError(f"{self._path}: no room for a line")
        self._torn = False
        self._size += len(whole)

    def _rotate(self) -> None:
        """What is still needed, in a file that takes this one's place at once."""
        fresh = self._path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        file = _new_file(fresh)
        kept = b"".join((self._head, *self._slices.values(), *self._begun.values(), *self._ended.values()))
        if os.write(file, kept) != len(kept):  # the long one goes on
            os.close(file)
            fresh.unlink()
            return
        fresh.rename(self._path)
        os.close(self._file)
        self._file, self._size, self._torn = file, len(kept), False


def _new_file(path: Path) -> int:
    """A file of this user's, locked while it is open."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _line(value: Mapping[str, Any]) -> bytes:
    return write_json(value) + b"\n"
