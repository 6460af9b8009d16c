"""A trajectory as somebody reads it who has not the time, or the memory, for all of it: an index, pages, and a search.

What is known of its steps is kept for the next question, in one process, the least recently asked for going first. The
steps of a whole document stay where they are and are read by range; those of one that grows are held as lines.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID
from zlib import crc32

from pydantic_core import PydanticSerializationError, to_json

from proctor.engine.segments import read_segments
from proctor.engine.step_columns import facts_of, texts_of
from proctor.engine.step_maps import Places, StepColumns, StepMap, map_of, parsed
from proctor.engine.trajectories import KIND
from proctor.kernel.errors import UsageError
from proctor.objects.store import ObjectDamaged, ObjectStore, StoredObject

__all__ = [
    "MOST_FOUND",
    "MOST_STEPS",
    "KeptSteps",
    "StepBody",
    "StepFound",
    "StepIndex",
    "StepPage",
    "StepUnknown",
    "Steps",
    "StepsFound",
]

T = TypeVar("T", int, float)

MOST_STEPS: int = 100
"""Of one page."""
MOST_FOUND: int = 200
"""Steps of one answer to a search."""
PAGE_BYTES: int = 4 << 20
"""A page ends where it holds more."""
TEXT_CHARS: int = 256 * 1024
"""Of one text that are shown; what is left out is counted, and the whole step can be had by itself."""
_HEAD: int = TEXT_CHARS * 3 // 4
"""The rest is the end of it: what went wrong stands there."""
_STEP_CHARS: int = 4 * TEXT_CHARS
"""Of all texts of one step together."""
_KEPT_BYTES: int = 192 << 20
_STEP_BYTES: int = 80
"""What a step takes besides its text."""
_ESCAPES: tuple[bytes, ...] = (b"\\u", b"\\/")
"""With these a text may be written otherwise than we write it."""
_AROUND: int = 60
"""Characters on either side of what was found."""


class StepUnknown(UsageError):
    """The trajectory has no such step."""

    code = "step-unknown"
    remedy = "`steps` of its index is how many there are; they are numbered from 1."


@dataclass(frozen=True, kw_only=True)
class StepIndex:
    """The steps numbered from ``first`` on, a column for each fact; ``None``: no step says it.

    ``kinds`` has a letter a step: ``s`` system, ``u`` user, ``m`` the agent said something, ``c`` it only called tools.
    ``failed`` and ``edits`` are read off what the agent wrote: a way through it, not evidence.
    """

    first: int
    steps: int
    """How many there are in all."""
    running: bool
    """Whether there may be more later."""
    kinds: str
    began: datetime | None
    """When the first step was that says it."""
    at: list[float | None] | None
    """Seconds since."""
    input_tokens: list[int | None] | None
    output_tokens: list[int | None] | None
    sizes: list[int]
    """Bytes of each."""
    failed: list[int]
    """Numbers of the steps in which something failed, by what its output ends with."""
    edits: list[int]
    """Numbers of the steps that changed a file."""


@dataclass(frozen=True, kw_only=True)
class StepBody:
    """One step (ATIF). ``cut``: characters of long texts that were left out of their middle."""

    number: int
    step: Mapping[str, Any]
    cut: int


@dataclass(frozen=True, kw_only=True)
class StepPage:
    """Steps one after the other; fewer than asked for where they are large."""

    items: list[StepBody]
    steps: int
    running: bool


@dataclass(frozen=True, kw_only=True)
class StepFound:
    """Where a text first stands in a step: ``message``, ``reasoning``, ``call`` or ``result``."""

    number: int
    place: str
    excerpt: str


@dataclass(frozen=True, kw_only=True)
class StepsFound:
    """Steps that hold a text; ``next``: the step to go on after, ``None`` where there are no more."""

    items: list[StepFound]
    next: int | None
    steps: int
    running: bool


class Lines(Protocol):
    """Steps as JSON, from 1 on."""

    def read(self, first: int, last: int) -> Sequence[bytes]:
        """Those numbered from ``first`` to ``last``; each a text in which every character stands as it is."""
        ...

    def holding(self, text: bytes, after: int) -> Iterator[tuple[int, bytes]]:
        """Those numbered above ``after`` that may hold a text, written as in JSON and in small letters, in order."""
        ...


class HeldLines:
    """Of a trajectory that grows."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def add(self, line: bytes) -> None:
        """The next."""
        self._lines.append(line)

    def read(self, first: int, last: int) -> Sequence[bytes]:
        return self._lines[first - 1 : last]

    def holding(self, text: bytes, after: int) -> Iterator[tuple[int, bytes]]:
        return ((n, line) for n, line in enumerate(self._lines[after:], start=after + 1) if text in line.lower())


class StoredLines:
    """Of a whole document in the object store. Raises ``ObjectMissing``, ``ObjectDamaged``."""

    def __init__(self, objects: ObjectStore, whole: StoredObject, places: Places) -> None:
        self._objects, self._whole, self._places = objects, whole, places

    def read(self, first: int, last: int) -> Sequence[bytes]:
        if last < first:
            return []
        begin = self._places.starts[first - 1]
        data = self._objects.read_range(self._whole, begin, self._places.end(last))
        cut = [self._places.of(data, number, begin) for number in range(first, last + 1)]
        if any(crc32(line) != mark for line, mark in zip(cut, self._places.marks[first - 1 : last], strict=True)):
            raise ObjectDamaged(where=self._whole.key)
        return [_line(parsed(line)) for line in cut]

    def holding(self, text: bytes, after: int) -> Iterator[tuple[int, bytes]]:
        document = self._objects.read(self._whole)
        for number in self._places.with_any((text, *_ESCAPES), document.lower(), after):
            yield number, _line(parsed(self._places.of(document, number)))


@dataclass(kw_only=True)
class Steps:
    """The steps of one trajectory; of one that still grows, as far as it was read."""

    running: bool = False
    segment: int = 0
    """The last one that was read."""
    reading: threading.Lock = field(default_factory=threading.Lock)
    _columns: StepColumns = field(default_factory=StepColumns)
    _lines: Lines = field(default_factory=HeldLines)
    size: int = 0
    """Bytes that it takes, about."""

    def __len__(self) -> int:
        return len(self._columns)

    def add(self, step: Mapping[str, Any]) -> None:
        """The next step of one that grows."""
        line, lines = _line(step), self._lines
        assert isinstance(lines, HeldLines)
        lines.add(line)  # before the columns: whoever reads meanwhile goes by their number
        self._columns.add(facts_of(step), len(line))
        self.size += len(line) + _STEP_BYTES

    def take(self, known: StepMap, objects: ObjectStore, whole: StoredObject) -> None:
        """All steps of a whole document."""
        self._lines = StoredLines(objects, whole, known.places)
        self.size = len(known.columns) * _STEP_BYTES
        self._columns = known.columns

    def index(self, *, after: int = 0) -> StepIndex:
        """Of the steps numbered above ``after``."""
        columns, count = self._columns, len(self)
        after = min(after, count)
        return StepIndex(
            first=after + 1,
            steps=count,
            running=self.running,
            kinds=columns.kinds[after:count].decode(),
            began=columns.began,
            at=_known(columns.at[after:count]),
            input_tokens=_known(columns.input[after:count]),
            output_tokens=_known(columns.output[after:count]),
            sizes=columns.sizes[after:count].tolist(),
            failed=[number for number in columns.failed if after < number <= count],
            edits=[number for number in columns.edits if after < number <= count],
        )

    def page(self, *, first: int, limit: int) -> StepPage:
        """Steps from ``first`` on; at least one if it is there."""
        last, size = first - 1, 0
        for number in range(first, min(first + limit, len(self) + 1)):
            size += min(self._columns.sizes[number - 1], _STEP_CHARS)
            if last >= first and size > PAGE_BYTES:
                break
            last = number
        lines = self._lines.read(first, last)
        items = [_body(number, line) for number, line in enumerate(lines, start=first)]
        return StepPage(items=items, steps=len(self), running=self.running)

    def line(self, number: int) -> bytes:
        """A whole step as JSON. Raises ``StepUnknown``."""
        if not 1 <= number <= len(self):
            raise StepUnknown(where="step")
        return self._lines.read(number, number)[0]

    def find(self, text: str, *, after: int = 0, limit: int = MOST_FOUND) -> StepsFound:
        """Steps numbered above ``after`` that hold a text, whichever case its letters A to Z are in."""
        written, wanted = _line(text)[1:-1].lower(), text.lower()
        items: list[StepFound] = []
        for number, line in self._lines.holding(written, after):
            found = _found(number, json.loads(line), wanted)
            if found is not None:
                items.append(found)
            if len(items) == limit:
                break
        more = len(items) == limit and items[-1].number < len(self)
        return StepsFound(items=items, next=items[-1].number if more else None, steps=len(self), running=self.running)


def _body(number: int, line: bytes) -> StepBody:
    step = json.loads(line)
    if len(line) <= TEXT_CHARS:
        return StepBody(number=number, step=step, cut=0)
    cutting = _Cutting()
    return StepBody(number=number, step=cutting.of(step), cut=cutting.left_out)


def _found(number: int, step: Mapping[str, Any], wanted: str) -> StepFound | None:
    for place, text in texts_of(step):
        at = text.lower().find(wanted)
        if at >= 0:
            excerpt = text[max(0, at - _AROUND) : at + len(wanted) + _AROUND]
            return StepFound(number=number, place=place, excerpt=excerpt)
    return None


class _Cutting:
    """Makes the texts of one step short enough to be shown."""

    def __init__(self) -> None:
        self._left, self.left_out = _STEP_CHARS, 0

    def of(self, value: Any) -> Any:
        """The same value with every text as long as it may be."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {name: self.of(one) for name, one in value.items()}
        return [self.of(one) for one in value] if isinstance(value, list) else value

    def _text(self, text: str) -> str:
        most = min(TEXT_CHARS, self._left)
        self._left -= min(len(text), most)
        if len(text) <= most:
            return text
        out, head = len(text) - most, most * _HEAD // TEXT_CHARS
        self.left_out += out
        return f"{text[:head]}\n… {out:,} characters left out …\n{text[len(text) - (most - head) :]}"


class KeptSteps:
    """The trajectories that were asked for last, of one process."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self._most = most_bytes
        self._guard = threading.Lock()
        self._kept: OrderedDict[tuple[UUID, UUID, str], Steps] = OrderedDict()

    def of(
        self, objects: ObjectStore, tenant: UUID, attempt: UUID, whole: StoredObject | None, *, running: bool
    ) -> Steps:
        """The steps of an attempt: of the whole document where there is one, else of the segments so far.

        Raises ``TrajectoryInvalid``, ``ObjectMissing``, ``ObjectDamaged``.
        """
        key = (tenant, attempt, whole.sha256 if whole else "")
        with self._guard:
            steps = self._kept.setdefault(key, Steps())
            self._kept.move_to_end(key)
        with steps.reading:
            steps.running = running
            if whole is None:
                _go_on(steps, objects, tenant, attempt)
            elif not len(steps):
                steps.take(map_of(objects, tenant, whole), objects, whole)
        self._make_room()
        return steps

    def _make_room(self) -> None:
        """Answers that are being made of what goes keep it as long as they need it."""
        with self._guard:
            size = sum(one.size for one in self._kept.values())
            while size > self._most and self._kept:
                size -= self._kept.popitem(last=False)[1].size


def _go_on(steps: Steps, objects: ObjectStore, tenant: UUID, attempt: UUID) -> None:
    for number, segment in read_segments(objects, tenant, attempt, after=steps.segment, kind=KIND):
        for line in segment.splitlines():
            steps.add(parsed(line))
        steps.segment = number


def _line(value: object) -> bytes:
    """As JSON in which every text stands as it is, but for halves of characters."""
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _known(column: array[T]) -> list[T | None] | None:
    """``None`` for what no step says."""
    if not column or max(column) < 0:
        return None
    return [None if value < 0 else value for value in column]
