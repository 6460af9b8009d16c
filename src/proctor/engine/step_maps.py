"""Where each step of a stored trajectory stands in its document, and what is known of it.

With that, a page of a hundred steps is one read of a range, and an index is not read off the document, however many
steps there are. Of a large document it is made when the attempt is recorded, else when somebody first looks, and kept
beside it under the document's digest. It can be made anew at any time: no row names it, and what is old is swept.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID
from zlib import crc32

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from proctor.agents.trajectory import TrajectoryInvalid
from proctor.engine.step_columns import StepFacts, facts_of
from proctor.objects.store import ObjectMissing, ObjectStore, ObjectStoreFull, StoredObject

__all__ = ["FOLDER", "LARGE_BYTES", "Places", "StepColumns", "StepMap", "keep_map", "map_of", "parsed"]

FOLDER: str = "steps"
"""Below a tenant's, in the object store."""
LARGE_BYTES: int = 1 << 20
"""A smaller document is gone through in less time than reading another object may take."""
_VERSION: int = 1
"""Of how it is kept."""
_DECODER = json.JSONDecoder()
_BLANKS: frozenset[str] = frozenset(" \t\n\r")


@dataclass(kw_only=True)
class StepColumns:
    """What is known of the steps of one trajectory; below 0: they do not say."""

    kinds: bytearray = field(default_factory=bytearray)
    at: array[float] = field(default_factory=lambda: array("d"))
    input: array[int] = field(default_factory=lambda: array("q"))
    output: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    failed: list[int] = field(default_factory=list)
    edits: list[int] = field(default_factory=list)
    began: datetime | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    def add(self, facts: StepFacts, size: int) -> None:
        """The next step, of so many bytes."""
        number = len(self) + 1
        if self.began is None:
            self.began = facts.at
        since = None if facts.at is None or self.began is None else (facts.at - self.began).total_seconds()
        self.kinds.append(ord(facts.kind))
        self.at.append(-1.0 if since is None else max(round(since, 3), 0.0))
        self.input.append(-1 if facts.input_tokens is None else facts.input_tokens)
        self.output.append(-1 if facts.output_tokens is None else facts.output_tokens)
        if facts.failed:
            self.failed.append(number)
        if facts.edits:
            self.edits.append(number)
        self.sizes.append(size)  # the last: whoever reads meanwhile goes by their number


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where each step begins in its document, its bytes, and a check of them."""

    starts: array[int]
    sizes: array[int]
    marks: array[int]

    def end(self, number: int) -> int:
        """The byte after a step."""
        return self.starts[number - 1] + self.sizes[number - 1]

    def of(self, data: bytes, number: int, begin: int = 0) -> bytes:
        """A step's bytes, in what the document has from ``begin`` on."""
        return data[self.starts[number - 1] - begin : self.end(number) - begin]

    def with_any(self, signs: Sequence[bytes], document: bytes, after: int) -> Iterator[int]:
        """Numbers above ``after`` of the steps that hold any of some signs, in order."""
        ends = self.end(len(self.starts)) if self.starts else 0
        at = self.end(after) if after else 0
        found = {sign: document.find(sign, at, ends) for sign in signs}
        while places := [place for place in found.values() if place >= 0]:
            number = bisect_right(self.starts, min(places))
            if number and min(places) < self.end(number):
                yield number
            at = max(self.end(number) if number else 0, min(places) + 1)
            found = {sign: document.find(sign, at, ends) if 0 <= place < at else place for sign, place in found.items()}


@dataclass(frozen=True, kw_only=True)
class StepMap:
    """Of one document."""

    columns: StepColumns
    places: Places


class _Kept(BaseModel):
    """A map as it is kept: a list for each column."""

    version: int
    began: datetime | None
    kinds: str
    at: list[float]
    input: list[int]
    output: list[int]
    sizes: list[int]
    failed: list[int]
    edits: list[int]
    starts: list[int]
    marks: list[int]


def map_of(objects: ObjectStore, tenant: UUID, whole: StoredObject) -> StepMap:
    """The map of a stored document: the kept one, else one that is made, and kept where the document is large.

    Raises ``TrajectoryInvalid``, ``ObjectMissing``, ``ObjectDamaged``.
    """
    if whole.size < LARGE_BYTES:
        return _made(objects.read(whole))
    with suppress(ObjectMissing, ValidationError, ValueError):
        return _read(objects.get(_key(tenant, whole)))
    made = _made(objects.read(whole))
    _keep(objects, tenant, whole, made)
    return made


async def keep_map(objects: ObjectStore, tenant: UUID, whole: StoredObject, document: bytes) -> None:
    """Make and keep the map of a document that was just stored, where it is large."""
    if whole.size >= LARGE_BYTES:
        await asyncio.to_thread(lambda: _keep(objects, tenant, whole, _made(document)))


def _keep(objects: ObjectStore, tenant: UUID, whole: StoredObject, made: StepMap) -> None:
    with suppress(ObjectStoreFull):  # it is made anew then
        objects.put(_key(tenant, whole), _written(made))


def _key(tenant: UUID, whole: StoredObject) -> str:
    return f"{tenant}/{FOLDER}/{whole.sha256[:2]}/{whole.sha256}.json"


def _written(made: StepMap) -> bytes:
    columns, places = made.columns, made.places
    kept = _Kept(
        version=_VERSION,
        began=columns.began,
        kinds=columns.kinds.decode(),
        at=columns.at.tolist(),
        input=columns.input.tolist(),
        output=columns.output.tolist(),
        sizes=columns.sizes.tolist(),
        failed=columns.failed,
        edits=columns.edits,
        starts=places.starts.tolist(),
        marks=places.marks.tolist(),
    )
    return kept.model_dump_json().encode()


def _read(data: bytes) -> StepMap:
    """Raises ``ValueError`` for one of another version, or that is none."""
    kept = _Kept.model_validate_json(data)
    lengths = {len(one) for one in (kept.kinds, kept.at, kept.input, kept.output, kept.sizes, kept.starts, kept.marks)}
    if kept.version != _VERSION or len(lengths) != 1:
        raise ValueError("A map of another version.")
    columns = StepColumns(
        kinds=bytearray(kept.kinds.encode()),
        at=array("d", kept.at),
        input=array("q", kept.input),
        output=array("q", kept.output),
        sizes=array("q", kept.sizes),
        failed=kept.failed,
        edits=kept.edits,
        began=kept.began,
    )
    places = Places(starts=array("q", kept.starts), sizes=columns.sizes, marks=array("q", kept.marks))
    return StepMap(columns=columns, places=places)


def _made(document: bytes) -> StepMap:
    """Raises ``TrajectoryInvalid``."""
    cursor, found = _Cursor(document.decode("latin-1")), None  # a character a byte: where values end is asked for
    try:
        cursor.needs("{")
        while not cursor.takes("}"):
            name = cursor.value()
            cursor.needs(":")
            if name == "steps" and cursor.takes("["):
                found = _mapped(cursor, document)
            else:
                cursor.value()
            cursor.takes(",")
    except (ValueError, RecursionError) as error:
        raise TrajectoryInvalid("It is no JSON that can be read.") from error
    if found is None:
        raise TrajectoryInvalid("It has no steps.")
    return found


def _mapped(cursor: _Cursor, document: bytes) -> StepMap:
    """The list that a cursor is in."""
    columns, starts, marks, is_read = StepColumns(), array("q"), array("q"), document.isascii()
    while not cursor.takes("]"):
        begin = cursor.at
        value = cursor.value()
        line = document[begin : cursor.at]
        step = value if is_read and isinstance(value, dict) else parsed(line)
        columns.add(facts_of(step), len(line))
        starts.append(begin)
        marks.append(crc32(line))
        cursor.takes(",")
    return StepMap(columns=columns, places=Places(starts=starts, sizes=columns.sizes, marks=marks))


def parsed(text: bytes) -> Mapping[str, Any]:
    """A JSON object. Raises ``TrajectoryInvalid``."""
    try:
        found = from_json(text)
    except ValueError:
        found = _loosely(text)
    if not isinstance(found, dict):
        raise TrajectoryInvalid("It is no JSON object.")
    return found


def _loosely(text: bytes) -> Any:
    """What the strict reader refuses: halves of characters."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TrajectoryInvalid("It is no JSON that can be read.") from error


class _Cursor:
    """Goes through a JSON text from value to value."""

    def __init__(self, text: str) -> None:
        self._text, self.at = text, 0

    def takes(self, sign: str) -> bool:
        """Whether a sign is next, which is passed then; blanks before it are in any case."""
        self._pass_blanks()
        if not self._text.startswith(sign, self.at):
            return False
        self.at += 1
        return True

    def needs(self, sign: str) -> None:
        """Pass a sign. Raises ``ValueError`` where it is not next."""
        if not self.takes(sign):
            raise ValueError(sign)

    def value(self) -> object:
        """The value that is next. Raises ``ValueError`` and ``RecursionError``."""
        self._pass_blanks()
        found: object
        found, self.at = _DECODER.raw_decode(self._text, self.at)
        return found

    def _pass_blanks(self) -> None:
        while self._text[self.at : self.at + 1] in _BLANKS:
            self.at += 1
