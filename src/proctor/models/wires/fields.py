"""Fields of bodies that others wrote: each is what it should be, or an error names it. Nothing here recurses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.kernel.canonical import Json
from proctor.kernel.errors import ProctorError
from proctor.models.codec import read_json
from proctor.models.errors import ReplyInvalid, RequestInvalid

__all__ = [
    "DEEPEST",
    "HUGE",
    "MODEL_CHARS",
    "REPLY",
    "REQUEST",
    "Fields",
    "encoded",
    "entry",
    "glanced",
    "listed",
    "parsed",
    "string",
]

DEEPEST: int = 128
"""Levels of lists and tables in a body. Tools' schemas have some twenty; Python's JSON gives up near a thousand."""
HUGE: int = 10**12
"""No count of tokens is more than this; what says so is broken."""
MODEL_CHARS: int = 256
"""Of a model's name. The longest in use (an inference profile's ARN) has some 150."""


def parsed(data: bytes | str) -> Json:
    """A JSON text; ``None`` where it is none, or is nested too deep."""
    value = glanced(data)
    return value if _shallow(value) else None


def glanced(data: bytes | str) -> Json:
    """The same for those who look at its first levels alone: it may be nested as deep as Python's JSON goes."""
    try:
        return read_json(data)
    except (ValueError, RecursionError):
        return None


def encoded(value: Json) -> bytes:
    """JSON as it is sent. Half a surrogate pair, which UTF-8 can't say, goes as the escape that JSON has for it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def entry(value: Json, name: str) -> Mapping[str, Json]:
    """A table in a table; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def listed(value: Json, name: str) -> Sequence[Json]:
    """A list in a table; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else ()


def string(value: Json, name: str) -> str:
    """A text in a table; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Reads fields of a body that must be right, and raises ``error`` naming the field where one is not."""

    error: type[ProctorError]

    def shallow(self, body: Json) -> None:
        """Refuses a body that is nested deeper than ``DEEPEST``."""
        if not _shallow(body):
            raise self.error(f"The body is nested more than {DEEPEST} deep.", where="body")

    def table(self, value: Json, where: str) -> Mapping[str, Json]:
        """A JSON object."""
        if not isinstance(value, dict):
            raise self.error("It has to be an object.", where=where)
        return value

    def items(self, value: Json, where: str) -> Sequence[Json]:
        """A list; none at all is an empty one."""
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.error("It has to be a list.", where=where)
        return value

    def tables(self, value: Json, where: str) -> list[Mapping[str, Json]]:
        """A list of objects; none at all is an empty one."""
        return [self.table(one, f"{where}.{index}") for index, one in enumerate(self.items(value, where))]

    def text(self, body: Mapping[str, Json], name: str, where: str = "") -> str:
        """A text that has to be there; ``where``: the field that ``body`` is."""
        value = body.get(name)
        if not isinstance(value, str):
            raise self.error("It has to be a string.", where=_place(where, name))
        return value

    def model(self, body: Mapping[str, Json], said: str = "") -> str:
        """The model's name, of the path (``said``) or of the body."""
        name = said or self.text(body, "model")
        if not name or len(name) > MODEL_CHARS:
            raise self.error(f"It has to be a name of 1 to {MODEL_CHARS} characters.", where="model")
        return name

    def flag(self, body: Mapping[str, Json], name: str) -> bool:
        """A boolean; false where there is none."""
        value = body.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error("It has to be true or false.", where=name)
        return bool(value)

    def count(self, body: Mapping[str, Json], name: str, where: str = "") -> int | None:
        """A positive whole number, where there is one."""
        value = body.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= HUGE:
            raise self.error("It has to be a positive whole number.", where=_place(where, name))
        return value


REQUEST = Fields(error=RequestInvalid)
REPLY = Fields(error=ReplyInvalid)


def _place(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _shallow(value: Json) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return True
    return False


def _inside(value: Json) -> list[Json]:
    """The lists and tables right inside one."""
    if isinstance(value, dict):
        return [one for one in value.values() if isinstance(one, (dict, list))]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, (dict, list))]
    return []
