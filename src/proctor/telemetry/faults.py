"""An exception as a log line may tell it: its kinds and places, and its words only where they are our own.

Messages of others repeat what they were given: a row, a header, a file's text. Ours name codes and fields.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from proctor.kernel.errors import ProctorError

__all__ = ["fault_of", "told"]

_FRAMES: int = 12
"""Of one exception, the innermost: where it came from. The whole is some 1 KiB."""
_CAUSES: int = 5


def told(error: BaseException) -> str:
    """An exception in a few words: its kind, with its message where it is ours."""
    return f"{type(error).__name__}: {error}" if isinstance(error, ProctorError) else type(error).__name__


def fault_of(exc_info: object) -> list[dict[str, object]]:
    """An exception and its causes, as ``exc_info`` of a log call names it; empty where there is none."""
    error = _error_of(exc_info)
    chain: list[dict[str, object]] = []
    while error is not None and len(chain) < _CAUSES:
        chain.append({"error": told(error), "at": _places(error.__traceback__)})
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain


def _error_of(exc_info: object) -> BaseException | None:
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return exc_info[1] if isinstance(exc_info[1], BaseException) else None
    return sys.exc_info()[1] if exc_info else None


def _places(trace: TracebackType | None) -> list[str]:
    frames = traceback.StackSummary.extract(traceback.walk_tb(trace), lookup_lines=False)
    return [f"{_module(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames[-_FRAMES:]]


def _module(path: str) -> str:
    """A file from its package on: where Proctor is installed is nobody's business."""
    for root in ("/proctor/", "/site-packages/"):
        _, found, rest = path.rpartition(root)
        if found:
            return f"proctor/{rest}" if root == "/proctor/" else rest
    return path.rpartition("/")[2]
