"""An example as it is stored, and the digest of all it says.

Text and JSON are kept apart: a string is itself, any other value its RFC 8785 text with a flag, so that ``"1"`` and
``1`` never become the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.kernel.canonical import Json, canonical_json

__all__ = [
    "DIGEST_BYTES",
    "TOO_DEEP",
    "Example",
    "derived_example_id",
    "json_text",
    "stored_json",
    "unstored",
    "value_of",
]

DEPTH: int = 100
"""How deep a value may be nested: what writes it out again, as for an answer, ends somewhere beyond 200."""
TOO_DEEP: str = f"it is nested more than {DEPTH} deep"
DIGEST_BYTES: int = 16
"""Of a sha256: a repeat by chance among a billion examples has a probability below 1e-20."""
_PLAIN_FROM: float = 1e-4
_PLAIN_TO: float = 1e16
"""Between them Python and RFC 8785 write a float with the same digits and no exponent."""
_TEXT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
"""For strings, booleans, null and lists of strings under ASCII names this is RFC 8785, at the speed of C."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """One example in its stored form, every field checked.

    ``input``, ``expected``: text, or with its flag the RFC 8785 text of a value that is no string; ``tags``: sorted,
    each once; ``embedding``: numbers as 32 bits hold them; ``metadata``: the RFC 8785 text of an object.
    """

    id: str
    input: str
    input_is_json: bool = False
    expected: str | None = None
    expected_is_json: bool = False
    difficulty: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    embedding: Sequence[float] | None = None
    metadata: str | None = None

    def digest(self) -> bytes:
        """The first 16 bytes of sha256 over the RFC 8785 JSON of all fields."""
        numbers = "null" if self.embedding is None else f"[{','.join(map(_number, self.embedding))}]"
        rest = {
            "expected": self.expected,
            "expected_is_json": self.expected_is_json,
            "id": self.id,
            "input": self.input,
            "input_is_json": self.input_is_json,
            "metadata": self.metadata,
            "source": self.source,
            "tags": self.tags,
        }
        text = f'{{"difficulty":{_TEXT(self.difficulty)},"embedding":{numbers},{_TEXT(rest)[1:]}'
        return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]

    def size(self) -> int:
        """Bytes that it takes at least."""
        texts = (self.id, self.input, self.expected, self.metadata, self.difficulty, self.source, *self.tags)
        return sum(len(text) for text in texts if text is not None) + 4 * len(self.embedding or ())


def json_text(value: Json) -> tuple[str, bool]:
    """A value as it is stored: its text, and whether that is JSON. Raises as ``stored_json``."""
    if isinstance(value, str):
        return value, False
    return stored_json(value), True


def stored_json(value: Json) -> str:
    """A value as JSON that everybody can read. Raises ``ValueError`` as ``canonical_json``, ``RecursionError``."""
    if _is_deeper(value, DEPTH - 1):
        raise RecursionError(TOO_DEEP)
    return canonical_json(value).decode()


def _is_deeper(value: object, than: int) -> bool:
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(than == 0 or _is_deeper(one, than - 1) for one in inside if isinstance(one, Mapping | list | tuple))


def value_of(text: str | None, is_json: bool) -> Json:
    """The value that a stored text stands for; ``None`` of none."""
    return _STORED.decode(text) if text is not None and is_json else text


def derived_example_id(text: str, is_json: bool) -> str:
    """The id of an example that came without one: of its input alone, so that a new label is a change of it."""
    marked = {"input": text, "input_is_json": is_json}
    return hashlib.sha256(_TEXT(marked).encode()).digest()[:DIGEST_BYTES].hex()


def unstored(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a version as a file would have it: values by the names of an example, without those that say nothing.

    Read again, it is the same example.
    """
    found = {
        **{name: row.get(name) for name in ("id", "difficulty", "source", "tags", "embedding")},
        "input": value_of(row["input"], row["input_is_json"]),
        "expected": value_of(row["expected"], row["expected_is_json"]),
        "metadata": value_of(row["metadata"], is_json=True),
    }
    order = ("id", "input", "expected", "difficulty", "source", "tags", "embedding", "metadata")
    return {name: found[name] for name in order if found[name] is not None and (name != "tags" or found[name])}


def _whole(text: str) -> int | float:
    """RFC 8785 writes a large float without a point or exponent; only whole numbers that are exact were any."""
    number = int(text)
    return number if abs(number) <= _EXACT else float(text)


_EXACT: int = 2**53 - 1
"""The largest whole number that every reader of JSON agrees on."""
_STORED = json.JSONDecoder(parse_int=_whole)


def _number(value: float) -> str:
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return repr(value + 0.0).removesuffix(".0")
    return canonical_json(value).decode()
