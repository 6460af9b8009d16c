"""Regular expressions of strangers: only those that are quick whatever they are held against.

Python's matcher holds the whole process while it tries, so one pattern could stop a server. A pattern with few choices
(repeats, options, alternatives), and none inside another, takes at most a small power of a name's length.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["costly"]

CHOICES: int = 3
"""The most that one pattern may leave open: a name of 200 characters takes some 20 ms then, with one more 2 s."""

_SINGLE = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_PLAIN = _SINGLE | {"AT", "CATEGORY"}


def costly(pattern: str) -> str:
    """Why a pattern may take too long, even to be tried on nothing; empty for a quick one, and for what is none."""
    parser = importlib.import_module("re._parser")  # the only way to a pattern's parts; held by a test
    try:
        choices = sum(_choices(parser.parse(pattern)))
    except _TooDeep as error:
        return str(error)
    except (re.error, OverflowError, RecursionError):
        return ""
    return f"it leaves {choices} things open; {CHOICES} may be" if choices > CHOICES else ""


class _TooDeep(Exception):
    pass


def _choices(parts: Any) -> Iterator[int]:
    """One for each choice on the way through a pattern."""
    for operation, argument in parts:
        name = str(operation)
        if name in _PLAIN:
            continue
        if name == "SUBPATTERN":
            yield from _choices(argument[3])
        elif name == "BRANCH":
            yield 1
            for branch in argument[1]:
                yield from _choices(branch)
        elif name in _REPEATS:
            yield 1
            yield from _body(argument)
        else:
            raise _TooDeep("it looks around, or back at what it found")


def _body(argument: Any) -> Iterator[int]:
    _, most, body = argument
    single = len(body) == 1 and str(body[0][0]) in _SINGLE
    if not single and int(most) > 1:
        raise _TooDeep("it repeats more than one character at once")
    if not single:
        yield from _choices(body)
