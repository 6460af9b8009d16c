"""Where this code is: the trace it works under and whom it works for. Log lines and spans are bound with it.

A scope belongs to one task or thread. Tasks and worker threads that it starts through asyncio share it, so that what
a route's dependency learns in its thread (the tenant) is on the lines of the whole request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import UUID

__all__ = [
    "Parent",
    "Scope",
    "bound_here",
    "current",
    "derived_span_id",
    "new_span_id",
    "new_trace_id",
    "note",
    "read_traceparent",
    "scope",
    "trace_id_of_here",
    "traceparent",
    "within",
]

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_LONGEST: int = 128
"""A traceparent is 55 characters; a later version may add some."""


@dataclass(frozen=True, kw_only=True)
class Parent:
    """What a span continues: a trace, and the span of it that asked."""

    trace_id: str
    span_id: str


@dataclass(slots=True)
class Scope:
    """The trace, the span that is open (empty: none) and what lines are bound with."""

    trace_id: str
    span_id: str = ""
    fields: dict[str, str] = field(default_factory=dict)


_HERE: ContextVar[Scope | None] = ContextVar("proctor_scope", default=None)


def current() -> Scope | None:
    """The scope that this code is in, if it is in any."""
    return _HERE.get()


def trace_id_of_here() -> str:
    """The trace that this code works under, or a new one."""
    here = _HERE.get()
    return here.trace_id if here is not None else new_trace_id()


@contextmanager
def scope(parent: Parent | None = None, **fields: object) -> Iterator[Scope]:
    """Work under a trace: ``parent``'s, else the one that goes on here, else a new one. ``None`` binds nothing."""
    outer = _HERE.get()
    told = {name: str(value) for name, value in fields.items() if value is not None}
    if parent is not None:
        made = Scope(parent.trace_id, parent.span_id, told)
    elif outer is not None:
        made = Scope(outer.trace_id, outer.span_id, {**outer.fields, **told})
    else:
        made = Scope(new_trace_id(), "", told)
    token = _HERE.set(made)
    try:
        yield made
    finally:
        _HERE.reset(token)


def bound_here() -> dict[str, str]:
    """What lines of here are bound with, but for the trace."""
    here = _HERE.get()
    return {} if here is None else dict(here.fields)


@contextmanager
def within(trace_id: str, span_id: str) -> Iterator[None]:
    """Work under an open span; what lines are bound with is the scope's around it."""
    outer = _HERE.get()
    token = _HERE.set(Scope(trace_id, span_id, {} if outer is None else outer.fields))
    try:
        yield
    finally:
        _HERE.reset(token)


def note(**fields: object) -> None:
    """Bind the lines of this scope with more, also those of its other threads; outside of any it does nothing."""
    here = _HERE.get()
    if here is not None:
        here.fields.update({name: str(value) for name, value in fields.items() if value is not None})


def new_trace_id() -> str:
    """32 hexadecimal digits, all of them random: samplers read the last 14."""
    return secrets.token_hex(16)


def new_span_id() -> str:
    """16 hexadecimal digits."""
    return secrets.token_hex(8)


def derived_span_id(kind: str, identity: UUID) -> str:
    """The span of a thing that processes meet at, such as a run set: each can name it and none has to store it."""
    return hashlib.sha256(f"{kind}\0{identity}".encode()).hexdigest()[:16]


def read_traceparent(text: str | None) -> Parent | None:
    """A W3C ``traceparent`` header. Whatever is none by its letter is ``None``: it comes from anybody."""
    if text is None or len(text) > _LONGEST:
        return None
    found = _TRACEPARENT.fullmatch(text)
    if found is None or found[1] == "ff" or (found[1] == "00" and found[4]):
        return None
    if not int(found[2], 16) or not int(found[3], 16):
        return None
    return Parent(trace_id=found[2], span_id=found[3])


def traceparent() -> str | None:
    """This place as a ``traceparent``, for whoever goes on with the work in another process; ``None`` without one."""
    here = _HERE.get()
    return None if here is None else f"00-{here.trace_id}-{here.span_id or new_span_id()}-01"
