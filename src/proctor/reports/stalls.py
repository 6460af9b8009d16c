"""Attempts that make no progress, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.engine.reading import Stall

__all__ = ["stall_words"]


def stall_words(stall: Stall) -> str:
    """An attempt that makes no progress: which cell, in which phase, since when."""
    phase = f"in {stall.phase}" if stall.phase else "before its first phase"
    where = f"cell {str(stall.cell)[:8]} · {stall.task} · {stall.profile}"
    return f"stalled: {where} · {phase}, nothing new since {stall.since:%H:%M:%S} UTC"
