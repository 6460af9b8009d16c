"""What agents' logs have in common: things said, tools called and answered. Of them trajectory steps are made.

A log is written by the agent under test, so all of it is hostile: nothing in here raises for what it says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from proctor.agents.interfaces import StepMaker
from proctor.agents.trajectory import Metrics, Observation, ObservationResult, Step, ToolCall
from proctor.kernel.canonical import Json

__all__ = ["Answered", "Called", "Event", "Said", "Spent", "StepGatherer", "Thought", "items", "read_json", "text_of"]

_SHOWN: int = 16 * 1024
"""Characters of a text that are kept in a step; the whole is in the attempt's log."""
_DEPTH: int = 32
"""Deeper arguments than any tool's are kept as text."""
_CALLS: int = 256
"""Calls of one step; more are steps of their own."""


@dataclass(frozen=True)
class Said:
    """The model's words."""

    text: str
    joined: bool = False
    """Whether they go on where the last ones ended."""


@dataclass(frozen=True)
class Thought:
    """What it thought before."""

    text: str


@dataclass(frozen=True)
class Called:
    """It called a tool."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True)
class Answered:
    """A tool's answer."""

    id: str
    text: str


@dataclass(frozen=True)
class Spent:
    """What the agent says that a call of its model used; the gateway's own count is what is paid."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None


Event = Said | Thought | Called | Answered | Spent


@dataclass
class StepGatherer:
    """Makes steps of events: a step is what was said, the calls that follow and their answers."""

    tell: Callable[[StepMaker], None] | None
    model: str | None = None
    final_message: str = ""
    told: int = 0
    """How many steps were told."""
    _said: list[str] = field(default_factory=list)
    _thought: list[str] = field(default_factory=list)
    _calls: dict[str, ToolCall] = field(default_factory=dict)
    _answers: dict[str, str] = field(default_factory=dict)
    _spent: Metrics | None = None

    def add(self, event: Event) -> None:
        """The next event."""
        match event:
            case Answered(id=call, text=text):
                if call in self._calls and call not in self._answers:
                    self._answers[call] = text
            case Spent(prompt=prompt, completion=completion, cached=cached):
                self._spent = Metrics(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)
            case _:
                if self._calls and (len(self._answers) == len(self._calls) or len(self._calls) >= _CALLS):
                    self.flush()
                self._begin(event)

    def _begin(self, event: Said | Thought | Called) -> None:
        match event:
            case Said(text="") | Thought(text=""):
                return
            case Said(text=text, joined=joined):
                self._said.append((self._said.pop() if joined and self._said else "") + text)
                self.final_message = _clean(self._said[-1])
            case Thought(text=text):
                self._thought.append(text)
            case Called(id=call, name=name, arguments=arguments):
                plain = _plain(arguments)
                made: dict[str, JsonValue] = plain if isinstance(plain, dict) else {"input": plain}
                self._calls[call] = ToolCall(tool_call_id=_clean(call), function_name=_clean(name), arguments=made)

    def flush(self) -> None:
        """End the step that is being gathered, if there is anything in it."""
        if self.tell is not None and (self._said or self._thought or self._calls):
            self.tell(self._maker())
            self.told += 1
        self._said, self._thought, self._calls, self._answers, self._spent = [], [], {}, {}, None

    def _maker(self) -> StepMaker:
        message, reasoning = _clean("\n".join(self._said)), _clean("\n".join(self._thought))
        calls, spent, model = list(self._calls.values()), self._spent, self.model
        results = [
            ObservationResult(source_call_id=self._calls[call].tool_call_id, content=_clean(text))
            for call, text in self._answers.items()
        ]
        return lambda number: Step(
            step_id=number,
            source="agent",
            model_name=model,
            message=message,
            reasoning_content=reasoning or None,
            tool_calls=calls or None,
            observation=Observation(results=results) if results else None,
            metrics=spent,
        )


# --- hostile JSON ----------------------------------------------------------------------------------------------------


def read_json(line: bytes) -> Mapping[str, Json] | None:
    """The object that a line is, ``None`` for anything else."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text_of(value: Json) -> str:
    """The text of a field that should be one, or a list of parts with texts; anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(_part(part) for part in value)
    return _dumped(value)


def _part(value: Json) -> str:
    if isinstance(value, Mapping) and isinstance(text := value.get("text"), str):
        return text
    return value if isinstance(value, str) else _dumped(value)


def items(value: Json) -> list[Mapping[str, Json]]:
    """The objects of a field that should be a list of them."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _dumped(value: Json) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""


def _clean(text: str) -> str:
    """Its last characters, such that any database and reader takes them."""
    kept = text[-_SHOWN:].replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return kept.encode("utf-8", "replace").decode("utf-8")


def _plain(value: Json, depth: int = 0) -> JsonValue:
    """The same value, clean and no deeper than anything reads."""
    if depth > _DEPTH:
        return _clean(_dumped(value))
    if isinstance(value, Mapping):
        return {_clean(str(name)): _plain(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, depth + 1) for one in value]
    if isinstance(value, str):
        return _clean(value)
    # JSON's 1e999 is infinite, and nothing that is written may be.
    return value if isinstance(value, int | float) and math.isfinite(value) else None
