"""A time by which work in the database is done or taken back: for questions whose asker goes away.

A statement has a limit of its own; work of thousands of short ones has none but this.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import Engine, event

from proctor.database.errors import OutOfTime

__all__ = ["keep_deadlines", "within"]

_until: ContextVar[float | None] = ContextVar("until", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Begin no statement after so long: raises ``OutOfTime``, and the transaction is undone."""
    token = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


def keep_deadlines(engine: Engine) -> None:
    """Have an engine look at the time before each statement."""

    @event.listens_for(engine, "before_cursor_execute")
    def look(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        until = _until.get()
        if until is not None and time.monotonic() > until and not statement.startswith("ROLLBACK"):
            raise OutOfTime
