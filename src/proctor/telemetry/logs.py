"""Logs are data: one JSON object a line on standard error, and from info on in the object store where one is kept.

Each line has a stable event name, its time and level, the trace and whom it was for, and no secret and no person.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog

from proctor.telemetry.context import current, new_trace_id
from proctor.telemetry.faults import fault_of
from proctor.telemetry.redaction import redacted

__all__ = ["Line", "configure_logs", "keeping"]

_LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
_KEPT_FROM: int = logging.INFO
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is stored. ``tenant``: empty for what is the operators' own."""

    at: datetime
    tenant: str
    text: str


@dataclass(slots=True)
class _Outlet:
    """Where lines go: to standard error from a level on, and to who keeps them."""

    level: int = logging.WARNING
    keep: Callable[[Line], None] | None = None
    trace_id: str = field(default_factory=new_trace_id)
    """Of lines that are of no request and no attempt: what this process does by itself."""

    def takes(self, level: int) -> bool:
        return level >= self.level or (self.keep is not None and level >= _KEPT_FROM)

    def write(self, level: int, line: Line) -> None:
        if level >= self.level:
            with suppress(OSError, ValueError):  # whoever read it has gone: no reason to end any work
                sys.stderr.write(f"{line.text}\n")  # in one piece, since threads write beside one another
                sys.stderr.flush()
        if self.keep is not None and level >= _KEPT_FROM:
            self.keep(line)


_OUTLET = _Outlet()


def configure_logs(level: str) -> None:
    """Write log lines of this level and above, those of libraries among them. A level is one of the settings' names."""
    _OUTLET.level = _LEVELS[level]
    structlog.configure(
        processors=[_wanted, _finished],
        wrapper_class=structlog.make_filtering_bound_logger(min(_OUTLET.level, _KEPT_FROM)),
        logger_factory=lambda *_: _Written(),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not isinstance(one, _OfLibraries)]
    root.addHandler(_OfLibraries(logging.WARNING))
    threading.excepthook = _thread_broke


@contextmanager
def keeping(keep: Callable[[Line], None]) -> Iterator[None]:
    """Have lines from info on taken by ``keep`` as well, which must not block and not fail."""
    before, _OUTLET.keep = _OUTLET.keep, keep
    try:
        yield
    finally:
        _OUTLET.keep = before


class _Written:
    """What structlog calls last: the line is written already."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_args, **_fields: None


def _wanted(_logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if not _OUTLET.takes(_LEVELS.get(method, logging.ERROR)):
        raise structlog.DropEvent
    return event


def _finished(_logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    """The line with whom and what it is about, cleaned; and written."""
    level = _LEVELS.get(method, logging.ERROR)
    at, here = datetime.now(UTC), current()
    bound = {"trace_id": _OUTLET.trace_id} if here is None else {"trace_id": here.trace_id, **here.fields}
    fault = fault_of(event.pop("exc_info", None))
    fields = {name: value for name, value in event.items() if value is not None}
    told: dict[str, object] = {"at": at.isoformat(timespec="microseconds"), "level": method, **bound, **fields}
    if fault:
        told["fault"] = fault
    text = json.dumps({name: redacted(value) for name, value in told.items()}, ensure_ascii=False)
    _OUTLET.write(level, Line(at=at, tenant=str(told.get("tenant", "")), text=text))
    raise structlog.DropEvent


class _OfLibraries(logging.Handler):
    """What libraries log: where in their code, never in which words, which may hold users' own."""

    def emit(self, record: logging.LogRecord) -> None:
        place = f"{record.module}:{record.lineno} {record.funcName}"
        method = "error" if record.levelno >= logging.ERROR else "warning"
        getattr(_log, method)("library", library=record.name, place=place, exc_info=record.exc_info or None)


def _thread_broke(broken: threading.ExceptHookArgs) -> None:
    """Python's own way prints the message as it is."""
    _log.error("thread.broke", thread=broken.thread.name if broken.thread else "", exc_info=broken.exc_value)
