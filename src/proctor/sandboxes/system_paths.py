"""Which paths of a sandbox belong to the image's own system, for every backend alike."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

__all__ = ["belongs_to_system", "runs_at_start"]

_TOP = frozenset({"usr", "bin", "sbin", "etc", "boot", "lib", "lib32", "lib64", "libx32"})
_START_NAMES = frozenset({"sitecustomize.py", "usercustomize.py"})
_PACKAGES = re.compile(r"/\.local/lib/python[^/]*/site-packages$")


def belongs_to_system(path: str) -> bool:
    """Interpreters, test tools and their configuration: ``path`` is relative to ``/`` or absolute."""
    parts = PurePosixPath("/", path).parts
    return len(parts) > 1 and parts[1] in _TOP


def runs_at_start(path: str) -> bool:
    """A user's own file that an interpreter runs before anything else: it would run inside a verifier."""
    pure = PurePosixPath("/", path)
    if not _PACKAGES.search(str(pure.parent)):
        return False
    return pure.name in _START_NAMES or pure.suffix == ".pth"
