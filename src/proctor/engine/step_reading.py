"""A trajectory as somebody reads it who has not the time, or the memory, for all of it: an index, pages, and a search.

What was read of it is kept for the next question, in one process, the least recently asked for going first: steps as
the lines that they are stored as, so that a trajectory of fifty thousand takes what its file takes.
"""

from __future__ import annotations

import gc
import json
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic_core import PydanticSerializationError, from_json, to_json

from proctor.agents.trajectory import TrajectoryInvalid
from proctor.engine.segments import read_segments
from proctor.engine.step_columns import facts_of, texts_of
from proctor.engine.trajectories import KIND
from proctor.kernel.errors import UsageError
from proctor.objects.store import ObjectStore, StoredObject

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
    "parsed",
]

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
_LINE_BYTES: int = 80
"""What a step takes besides its text."""
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


@dataclass(kw_only=True)
class Steps:
    """The steps of one trajectory; of one that still grows, as far as it was read."""

    running: bool = False
    segment: int = 0
    """The last one that was read."""
    reading: threading.Lock = field(default_factory=threading.Lock)
    _lines: list[bytes] = field(default_factory=list)
    _kinds: bytearray = field(default_factory=bytearray)
    _at: array[float] = field(default_factory=lambda: array("d"))
    _input: array[int] = field(default_factory=lambda: array("q"))
    _output: array[int] = field(default_factory=lambda: array("q"))
    _failed: list[int] = field(default_factory=list)
    _edits: list[int] = field(default_factory=list)
    _began: datetime | None = None
    size: int = 0
    """Bytes that it takes, about."""

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, step: Mapping[str, Any]) -> None:
        """The next step."""
        facts, line, number = facts_of(step), _line(step), len(self._lines) + 1
        if self._began is None:
            self._began = facts.at
        self._kinds.append(ord(facts.kind))
        since = None if facts.at is None or self._began is None else (facts.at - self._began).total_seconds()
        self._at.append(-1.0 if since is None else max(since, 0.0))
        self._input.append(-1 if facts.input_tokens is None else facts.input_tokens)
        self._output.append(-1 if facts.output_tokens is None else facts.output_tokens)
        if facts.failed:
            self._failed.append(number)
        if facts.edits:
            self._edits.append(number)
        self.size += len(line) + _LINE_BYTES
        self._lines.append(line)  # the last: whoever reads meanwhile goes by their number

    def index(self, *, after: int = 0) -> StepIndex:
        """Of the steps numbered above ``after``."""
        count = len(self)
        after = min(after, count)
        return StepIndex(
            first=after + 1,
            steps=count,
            running=self.running,
            kinds=self._kinds[after:count].decode(),
            began=self._began,
            at=_seconds(self._at[after:count]),
            input_tokens=_counts(self._input[after:count]),
            output_tokens=_counts(self._output[after:count]),
            sizes=[len(line) for line in self._lines[after:count]],
            failed=[number for number in self._failed if after < number <= count],
            edits=[number for number in self._edits if after < number <= count],
        )

    def page(self, *, first: int, limit: int) -> StepPage:
        """Steps from ``first`` on; at least one if it is there."""
        items: list[StepBody] = []
        size = 0
        for number in range(first, min(first + limit, len(self) + 1)):
            size += min(len(self._lines[number - 1]), _STEP_CHARS)
            if items and size > PAGE_BYTES:
                break
            items.append(self._body(number))
        return StepPage(items=items, steps=len(self), running=self.running)

    def _body(self, number: int) -> StepBody:
        line = self._lines[number - 1]
        step = json.loads(line)
        if len(line) <= TEXT_CHARS:
            return StepBody(number=number, step=step, cut=0)
        cutting = _Cutting()
        return StepBody(number=number, step=cutting.of(step), cut=cutting.left_out)

    def line(self, number: int) -> bytes:
        """A whole step as JSON. Raises ``StepUnknown``."""
        if not 1 <= number <= len(self):
            raise StepUnknown(where="step")
        return self._lines[number - 1]

    def find(self, text: str, *, after: int = 0, limit: int = MOST_FOUND) -> StepsFound:
        """Steps numbered above ``after`` that hold a text, whichever case its letters A to Z are in."""
        written, wanted = _line(text)[1:-1].lower(), text.lower()
        items: list[StepFound] = []
        for number in range(after + 1, len(self) + 1):
            if written not in self._lines[number - 1].lower():
                continue
            found = _found(number, json.loads(self._lines[number - 1]), wanted)
            if found is not None:
                items.append(found)
            if len(items) == limit:
                break
        more = len(items) == limit and items[-1].number < len(self)
        return StepsFound(items=items, next=items[-1].number if more else None, steps=len(self), running=self.running)


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
                document = objects.read(whole)
                with _without_collections():
                    for step in _steps_of(document):
                        steps.add(step)
        self._make_room()
        return steps

    def _make_room(self) -> None:
        """Answers that are being made of what goes keep it as long as they need it."""
        with self._guard:
            size = sum(one.size for one in self._kept.values())
            while size > self._most and self._kept:
                size -= self._kept.popitem(last=False)[1].size


_COLLECTING = threading.Lock()


@contextmanager
def _without_collections() -> Iterator[None]:
    """While a million objects are made that all live, looking for garbage among them takes six times as long as making
    them: 1.3 s of 1.5 were seen of fifty thousand steps. One at a time, so that it is on again in the end."""
    with _COLLECTING:
        was = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was:
                gc.enable()


def _go_on(steps: Steps, objects: ObjectStore, tenant: UUID, attempt: UUID) -> None:
    for number, segment in read_segments(objects, tenant, attempt, after=steps.segment, kind=KIND):
        for line in segment.splitlines():
            steps.add(parsed(line))
        steps.segment = number


def _steps_of(document: bytes) -> Iterator[Mapping[str, Any]]:
    whole = parsed(document)
    steps = whole.get("steps")
    if not isinstance(steps, list) or not all(isinstance(one, dict) for one in steps):
        raise TrajectoryInvalid("It has no steps.")
    yield from steps


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


def _line(value: object) -> bytes:
    """As JSON in which every text stands as it is, but for halves of characters."""
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _seconds(column: array[float]) -> list[float | None] | None:
    found = [None if value < 0 else round(value, 3) for value in column]
    return None if all(value is None for value in found) else found


def _counts(column: array[int]) -> list[int | None] | None:
    found = [None if value < 0 else value for value in column]
    return None if all(value is None for value in found) else found
