"""What a reader needs to know of a step before it is shown: of which kind it is, when it was, what it used, whether it
changed a file or failed.

All of it is read off what the agent under test wrote. It finds the way for a reader, and is evidence of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

__all__ = ["StepFacts", "StepKind", "facts_of", "texts_of"]

_ENDED = re.compile(r"\[(?:exit (?!0\])[0-9]{1,3}|signal [0-9]{1,3})\]\s*$")
"""How our own agents end what a command printed."""
_ENDING: int = 24
"""Characters that it takes."""
_BEGAN = re.compile(r"(?:exit code|exit status|returncode)[:=]? (?!0\b)[0-9]{1,3}\b", re.IGNORECASE)
"""How others begin it."""
_TRACEBACK: str = "Traceback (most recent call last):"
_TAIL: int = 4_000
"""Characters at the end of an output that are looked at for a traceback."""
_FLAGS: tuple[str, ...] = ("is_error", "failed", "error")
_CODES: tuple[str, ...] = ("exit_code", "returncode")
_NEW: frozenset[str] = frozenset({"new_string", "new_str", "replace"})
_PATHS: frozenset[str] = frozenset({"file_path", "path", "filePath", "filename", "target_file"})
_WHOLE: frozenset[str] = frozenset({"content", "file_text", "contents", "new_source"})
_PATCHES: tuple[str, ...] = ("patch", "input")


class StepKind(StrEnum):
    """Who did what."""

    SYSTEM = "s"
    USER = "u"
    SAID = "m"
    """The agent said something, whatever it did besides."""
    CALLED = "c"
    """The agent only called tools."""


class StepFacts(NamedTuple):
    """Of one step; ``None``: it does not say."""

    kind: StepKind
    at: datetime | None
    input_tokens: int | None
    output_tokens: int | None
    edits: bool
    failed: bool


def facts_of(step: Mapping[str, Any]) -> StepFacts:
    """Of a step of a trajectory, whatever it holds. A long one has fifty thousand: it looks at little of each."""
    metrics = step.get("metrics")
    used: Mapping[str, Any] = metrics if isinstance(metrics, dict) else {}
    return StepFacts(
        kind=_kind(step),
        at=_time(step.get("timestamp")),
        input_tokens=_whole(used.get("prompt_tokens")),
        output_tokens=_whole(used.get("completion_tokens")),
        edits=_edits(step.get("tool_calls")),
        failed=_failed(step.get("observation")),
    )


def texts_of(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text of a step that a reader is shown, with where it stands."""
    yield from (("message", text) for text in _parts(step.get("message")))
    yield from (("reasoning", text) for text in _parts(step.get("reasoning_content")))
    for call in _items(step.get("tool_calls")):
        yield from (("call", text) for text in _strings([call.get("function_name"), call.get("arguments")]))
    for result in _results(step):
        yield from (("result", text) for text in _parts(result.get("content")))


def _kind(step: Mapping[str, Any]) -> StepKind:
    source, message = step.get("source"), step.get("message")
    if source != "agent":
        return StepKind.USER if source == "user" else StepKind.SYSTEM
    said = message and (not isinstance(message, str) or not message.isspace())
    return StepKind.SAID if said or not step.get("tool_calls") else StepKind.CALLED


def _edits(calls: Any) -> bool:
    """Whether a call changes a file, by what it is given: names of tools are each agent's own."""
    if not isinstance(calls, list):
        return False
    for call in calls:
        given = call.get("arguments") if isinstance(call, dict) else None
        if not isinstance(given, dict):
            continue
        if not _NEW.isdisjoint(given) or not (_PATHS.isdisjoint(given) or _WHOLE.isdisjoint(given)):
            return True
        if any(isinstance(text := given.get(name), str) and _is_patch(text) for name in _PATCHES):
            return True
    return False


def _is_patch(text: str) -> bool:
    return text.lstrip().startswith(("*** Begin Patch", "--- ", "diff --git"))


def _failed(observation: Any) -> bool:
    results = observation.get("results") if isinstance(observation, dict) else None
    if not isinstance(results, list):
        return False
    for result in results:
        if not isinstance(result, dict):
            continue
        if "extra" in result and _is_told(_mapping(result["extra"])):
            return True
        content = result.get("content")
        for text in (content,) if isinstance(content, str) else _parts(content):
            if _BEGAN.match(text) or _ENDED.search(text[-_ENDING:]) or _TRACEBACK in text[-_TAIL:]:
                return True
    return False


def _is_told(extra: Mapping[str, Any]) -> bool:
    return any(extra.get(flag) is True for flag in _FLAGS) or any(_whole(extra.get(code)) for code in _CODES)


def _results(step: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return _items(_mapping(step.get("observation")).get("results"))


def _parts(value: Any) -> Iterator[str]:
    """The texts of a message: one, or parts with texts."""
    if isinstance(value, str):
        yield value
    for part in _items(value):
        if isinstance(text := part.get("text"), str):
            yield text


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            waiting.extend(reversed(one))


def _items(value: Any) -> Iterator[Mapping[str, Any]]:
    return (one for one in value if isinstance(one, Mapping)) if isinstance(value, list) else iter(())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
