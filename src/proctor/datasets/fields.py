"""From what a file says of an example to its stored form. What is wrong is told by field and reason."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.datasets.examples import TOO_DEEP, Example, derived_example_id, json_text, stored_json
from proctor.datasets.schema import ID_CHARACTERS
from proctor.kernel.canonical import Json

__all__ = ["ROW_BYTES", "FieldInvalid", "Fields", "Raw", "read_example"]

ROW_BYTES: int = 16 << 20
"""Of one example: the longest context of a model, four times over."""
TAGS: int = 100
"""Of one example; more are data, which has its place in ``metadata``."""
WORD_CHARACTERS: int = 200
"""Of a tag, and of a difficulty: words to choose by."""
SOURCE_CHARACTERS: int = 2000
"""Of a source: an address at the longest."""
DIMENSIONS: int = 16_384
"""Of an embedding: four times the largest that providers have."""
_MEANT: frozenset[str] = frozenset({"difficulty", "source", "tags", "embedding", "metadata"})
"""Names that mean the same in every file; id, input and expected can be called otherwise."""

Raw = Mapping[str, object]
"""An example as a file has it: values by name."""


class FieldInvalid(Exception):
    """A row is no example. No error of ours on purpose: a report of rows is made of it."""

    def __init__(self, field: str, reason: str) -> None:
        """``field``: as the file calls it; empty for the whole row."""
        super().__init__(f"{field}: {reason}")
        self.field, self.reason = field, reason


@dataclass(frozen=True, kw_only=True)
class Fields:
    """What a file calls the fields of an example. ``id``: ``None`` for ``id``, and a derived one where none is.

    Empty ``id`` or ``expected``: no field is that, and what is called so is metadata like any other.
    """

    id: str | None = None
    input: str = "input"
    expected: str = "expected"

    @property
    def id_name(self) -> str:
        """The field that may be the id; empty: none is, and every example has one of its input."""
        return "id" if self.id is None else self.id


def read_example(raw: Raw, fields: Fields) -> Example:
    """An example; what has no meaning here is kept in its metadata. Raises ``FieldInvalid``."""
    text, is_json = _stored(raw.get(fields.input), fields.input)
    if text is None:
        raise FieldInvalid(fields.input, "it is missing")
    expected, expected_is_json = _stored(raw.get(fields.expected) if fields.expected else None, fields.expected)
    identity = _id(raw, fields)
    example = Example(
        id=derived_example_id(text, is_json) if identity is None else identity,
        input=text,
        input_is_json=is_json,
        expected=expected,
        expected_is_json=expected_is_json,
        difficulty=_word(raw.get("difficulty"), "difficulty", WORD_CHARACTERS),
        source=_word(raw.get("source"), "source", SOURCE_CHARACTERS),
        tags=_tags(raw.get("tags")),
        embedding=_embedding(raw.get("embedding")),
        metadata=_metadata(raw, fields),
    )
    if example.size() > ROW_BYTES:
        raise FieldInvalid("", f"it takes more than {ROW_BYTES >> 20} MiB")
    return example


def _id(raw: Raw, fields: Fields) -> str | None:
    name = fields.id_name
    value = raw.get(name) if name else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None and not fields.id:
        return None
    if value is None:
        raise FieldInvalid(name, "it is missing")
    if not isinstance(value, str):
        raise FieldInvalid(name, "it must be a string or a whole number")
    if not 1 <= len(value) <= ID_CHARACTERS:
        raise FieldInvalid(name, f"it must have 1 to {ID_CHARACTERS} characters")
    if not value.isprintable():
        raise FieldInvalid(name, "it has a character that can't be printed")
    return value


def _stored(value: object, name: str) -> tuple[str | None, bool]:
    """A value as text and whether that is JSON."""
    if value is None:
        return None, False
    try:
        text, is_json = json_text(value)  # type: ignore[arg-type]  # what is no JSON is told
        text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise FieldInvalid(name, _unstorable(error)) from error
    return text, is_json


def _unstorable(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, UnicodeEncodeError):
        return "it has half a character"
    return "it is no JSON: a number that is none or beyond 2**53, or another kind of value"


def _word(value: object, name: str, most: int) -> str | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise FieldInvalid(name, "it must be a string")
    if not 1 <= len(value) <= most or not value.isprintable():
        raise FieldInvalid(name, f"it must have 1 to {most:,} characters that can be printed")
    return value


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise FieldInvalid("tags", "it must be a list of strings")
    if len(value) > TAGS:
        raise FieldInvalid("tags", f"there are {len(value):,}; {TAGS} may be")
    found = {_word(tag, "tags", WORD_CHARACTERS) for tag in value}
    if None in found:
        raise FieldInvalid("tags", "it must be a list of strings")
    return tuple(sorted(filter(None, found)))


def _embedding(value: object) -> Sequence[float] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not 1 <= len(value) <= DIMENSIONS:
        raise FieldInvalid("embedding", f"it must be a list of 1 to {DIMENSIONS:,} numbers")
    try:
        numbers = array("f", value).tolist()
    except (TypeError, OverflowError) as error:
        raise FieldInvalid("embedding", "it must be a list of numbers that 32 bits can hold") from error
    if not all(map(math.isfinite, numbers)):
        raise FieldInvalid("embedding", "it must be a list of numbers that 32 bits can hold")
    return numbers


def _metadata(raw: Raw, fields: Fields) -> str | None:
    known = _MEANT | {name for name in (fields.id_name, fields.input, fields.expected) if name}
    told = raw.get("metadata")
    if told is not None and not isinstance(told, Mapping):
        raise FieldInvalid("metadata", "it must be an object")
    own: dict[str, Json] = dict(told or {})
    for name, value in raw.items():
        if name in known or value is None:
            continue
        if name in own:
            raise FieldInvalid(name, "metadata has a field of this name too")
        own[name] = value  # type: ignore[assignment]  # what is no JSON is told below
    if not own:
        return None
    try:
        return stored_json(own)
    except (ValueError, TypeError, RecursionError) as error:
        raise FieldInvalid(_unfit(own, told or {}), _unstorable(error)) from error


def _unfit(own: Mapping[str, Json], told: Mapping[str, object]) -> str:
    """The field of a file that can't be kept in the metadata; ``metadata``, if it is one that this has of its own."""
    for name, value in own.items():
        if name in told or not name.isprintable():
            continue
        try:
            stored_json({name: value})
        except (ValueError, TypeError, RecursionError):
            return name
    return "metadata"
