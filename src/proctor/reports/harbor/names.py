"""Names of folders, made from other people's words: never a path, never an order to a terminal."""

from __future__ import annotations

import re
from uuid import UUID

__all__ = ["plain", "step_folder", "trial_name"]

_OTHER = re.compile(r"[^A-Za-z0-9._-]+")
_TASK_PART: int = 32
"""Characters of a task's name in a trial's, as Harbor takes them."""
_CELL_PART: int = 16
"""Hexadecimal characters of the cell's id: 60 bits that are its own, so that a million cells don't meet."""
_LONGEST: int = 100
"""Characters of a folder's name that is all somebody else's; a file system takes 255 bytes."""


def plain(text: str, *, longest: int = _LONGEST) -> str:
    """Letters, digits and ``._-`` of a text, none of which hides or climbs; ``x`` where none is left."""
    return _OTHER.sub("-", text).lstrip("._-")[:longest].rstrip("._-") or "x"


def trial_name(task: str, cell: UUID) -> str:
    """``<task>__<cell>``: Harbor's form (``TrialConfig.generate_trial_name``), and always the same for a cell."""
    return f"{plain(task.rsplit('/', 1)[-1], longest=_TASK_PART)}__{cell.hex[:_CELL_PART]}"


def step_folder(name: str) -> str:
    """A step's own name, which every task format refuses unless it is a portable folder's; else what is plain of it."""
    portable = name == name.strip(". ") and name.isprintable() and not re.search(r'[<>:"/\\|?*]', name)
    return name if portable and 0 < len(name.encode()) <= 255 else plain(name)
