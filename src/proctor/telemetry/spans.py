"""Spans: how long what took, under which trace, as a child of what. Recorded only where an operator wants them.

Without a collector a span costs a look at one variable, and nothing is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from proctor.telemetry.context import Scope, current, new_span_id, new_trace_id, within
from proctor.telemetry.redaction import redacted

__all__ = ["Attribute", "Span", "record", "record_with", "span"]

Attribute = str | int | float | bool
_NO_FACTS: Mapping[str, Attribute] = {}


@dataclass(slots=True)
class Span:
    """A piece of work. Times are nanoseconds since 1970; attributes are ids, classes and numbers."""

    name: str
    trace_id: str
    parent_id: str
    span_id: str
    started: int
    attributes: dict[str, Attribute] = field(default_factory=dict)
    ended: int = 0
    failed: bool = False
    serves: bool = False
    """Whether it answers somebody's request."""

    def set(self, **attributes: Attribute | None) -> None:
        """Say more of it; ``None`` says nothing."""
        self.attributes.update({name: value for name, value in attributes.items() if value is not None})


_record: Callable[[Span], None] | None = None


def record_with(record: Callable[[Span], None] | None) -> None:
    """Have the spans of this process recorded so from now on; ``None``: not at all."""
    global _record
    _record = record


@contextmanager
def span(
    name: str, facts: Mapping[str, Attribute] = _NO_FACTS, *, span_id: str | None = None, serves: bool = False
) -> Iterator[Span]:
    """A span from here to the end of the block, and the parent of those within. ``span_id``: one that others know."""
    outer = current()
    if _record is None:
        yield Span(name, "", "", "", 0)
        return
    made = _begun(name, outer, span_id)
    made.serves = serves
    made.set(**facts)
    try:
        with within(made.trace_id, made.span_id):
            yield made
    except BaseException:
        made.failed = True
        raise
    finally:
        made.ended = time.time_ns()
        record(made)


def _begun(name: str, outer: Scope | None, span_id: str | None) -> Span:
    trace, parent = (outer.trace_id, outer.span_id) if outer is not None else (new_trace_id(), "")
    return Span(name, trace, parent, span_id or new_span_id(), time.time_ns())


def record(made: Span) -> None:
    """Record a span that has ended, if this process records any."""
    take = _record
    if take is not None:
        made.attributes = {f"proctor.{name}": _plain(value) for name, value in made.attributes.items()}
        take(made)


def _plain(value: Attribute) -> Attribute:
    clean = redacted(value)
    return clean if isinstance(clean, bool | int | float) else str(clean)
