"""An object of a store as a file that can be read anywhere, a range at a time."""

from __future__ import annotations

import io
from collections.abc import Callable

__all__ = ["RangedFile"]


class RangedFile(io.RawIOBase):
    """Reads by ranges; nothing is kept of what was read."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        """``fetch``: the bytes from one position up to another; ``size``: of the object, in bytes."""
        self._fetch, self._size, self._at = fetch, size, 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """Anywhere."""
        return True

    def tell(self) -> int:
        """Where it is read next."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read there next."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, at most so many; all that are left without a number."""
        left = max(0, self._size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        if not wanted:
            return b""
        found = self._fetch(self._at, self._at + wanted)
        self._at += len(found)
        return found
