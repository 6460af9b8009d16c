"""JSON values in texts: reading them strictly, and the form in which columns hold them."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from proctor.kernel.canonical import Json, canonical_json

__all__ = ["DEEPEST", "LONGEST_JSON", "NotJson", "canonical_text", "column_text", "read_json", "without_fence"]

DEEPEST: int = 64
"""Values inside one another: far more than documents have, and far less than Python's stack holds."""
LONGEST_JSON: int = 4 * 1024 * 1024
"""Characters of a text that is read as JSON: its value takes about ten times that in memory."""
_FENCE = re.compile(r"\A\s*```[A-Za-z0-9_+-]{0,20}[ \t]*\n(?P<inside>.*?)\n?[ \t]*```\s*\Z", re.DOTALL)


class NotJson(ValueError):
    """A text that is no JSON value, and why."""


def read_json(text: str) -> Json:
    """The value that a text is by RFC 8259: no NaN, no comment. Raises ``NotJson``, also for one too long or deep."""
    if len(text) > LONGEST_JSON:
        raise NotJson(f"it has {len(text):,} characters, of which {LONGEST_JSON:,} are read")
    try:
        value: Json = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise NotJson(f"values are more than {DEEPEST} deep") from error
    except ValueError as error:
        raise NotJson(str(error)) from error
    if _is_deeper(value, DEEPEST):
        raise NotJson(f"values are more than {DEEPEST} deep")
    return value


def canonical_text(text: str) -> str:
    """The RFC 8785 form of the value that a text is. Raises ``NotJson``."""
    try:
        return canonical_json(read_json(text)).decode()
    except ValueError as error:
        raise NotJson(str(error)) from error


def column_text(value: Json) -> tuple[str, bool]:
    """A value as ``Samples`` hold it: its text, and whether that is JSON. Raises ``NotJson``."""
    if isinstance(value, str):
        return value, False
    try:
        return canonical_json(value).decode(), True
    except ValueError as error:
        raise NotJson(str(error)) from error


def without_fence(text: str) -> str:
    """What is inside of a Markdown code fence, where the text is one and nothing else; else the text."""
    found = _FENCE.match(text)
    return found["inside"] if found else text


def _refuse(constant: str) -> NoReturn:
    raise NotJson(f"{constant} is no JSON")


def _is_deeper(value: Json, depth: int) -> bool:
    if isinstance(value, dict):
        return depth == 0 or any(_is_deeper(one, depth - 1) for one in value.values())
    if isinstance(value, list):
        return depth == 0 or any(_is_deeper(one, depth - 1) for one in value)
    return False
