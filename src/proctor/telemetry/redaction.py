"""What is taken out of every log line before it is written anywhere: known secrets, and what looks like one.

Lines name people and things by id. A message of somebody else's (an exception's, a library's) may hold anything and is
never written; what is left is cleaned here all the same.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from proctor.kernel.masking import SHORTEST_MASKED

__all__ = ["MASK", "hide", "redacted"]

MASK = "[removed]"
_REMEMBERED: int = 10_000
"""Secret values that a process knows; the oldest are forgotten first."""

_HARMLESS = re.compile(r"[0-9a-f-]{0,64}|[a-z.]{0,32}|[0-9T:.Z+-]{0,40}")
"""Ids, words and times: most of what is logged, and nothing below can be in it."""
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\bauthorization\b\W{1,4}\S+(?:\s+\S+)?"), f"authorization: {MASK}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"proctor_[A-Za-z0-9_-]{20,}"), MASK),
    (re.compile(r"/setup#\S+"), f"/setup#{MASK}"),
    (re.compile(r"(://)[^/\s:@]*:[^/\s@]*@"), rf"\1{MASK}@"),
    (re.compile(r"[^\s@'\"<>(),;:=\[\]{}]{1,64}(?:@|%40)[A-Za-z0-9][A-Za-z0-9.-]{0,190}"), MASK),
    (
        re.compile(
            r"(?i)\b([a-z_-]{0,32}(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|cookie|credential)s?)"
            r"([\"']?\s*[:=]\s*)([\"'][^\"']*[\"']|[^\s\"',;&}\]]+)"
        ),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abprs])[-_][A-Za-z0-9_-]{10,}"), MASK),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"), MASK),
    (
        re.compile(r"(?<![A-Za-z0-9_-])(?=[a-z0-9_-]*[A-Z])(?=[A-Z0-9_-]*[a-z])[A-Za-z0-9_-]{40,}"),
        MASK,
    ),
)
"""What stands for a secret or a person: headers, our keys and links, logins in URLs, addresses, named values, keys of
others, and any long word in both cases."""


_SHORT: int = 100
"""Texts up to this are mostly names of routes, events and profiles, which come again and again."""


class _Known:
    """The secret values of this process, as one pattern that is made anew when there is another."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self.pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        new = [value for value in values if len(value) >= SHORTEST_MASKED and value not in self._values]
        if not new:
            return
        with self._lock:
            self._values.update(dict.fromkeys(new))
            while len(self._values) > _REMEMBERED:
                self._values.popitem(last=False)
            longest_first = sorted(self._values, key=len, reverse=True)
            self.pattern = re.compile("|".join(map(re.escape, longest_first)))


_KNOWN = _Known()


def hide(values: Iterable[str]) -> None:
    """Let no log line of this process hold any of these values, from now on; the shortest are left alone."""
    _KNOWN.add(values)


def redacted(value: object) -> object:
    """A value as it may be logged: texts, and what is in lists and mappings, cleaned; anything else as its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {_text(str(key)): redacted(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted(item) for item in value]
    return _text(value if isinstance(value, str) else str(value))


def _text(text: str) -> str:
    known = _KNOWN.pattern
    if known is not None:
        text = known.sub(MASK, text)
    if _HARMLESS.fullmatch(text):
        return text
    return _again(text) if len(text) <= _SHORT else _shapeless(text)


def _shapeless(text: str) -> str:
    for shape, left in _SHAPES:
        text = shape.sub(left, text)
    return text


_again = lru_cache(maxsize=2048)(_shapeless)
