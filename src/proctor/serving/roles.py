"""Roles in one process: each in a thread, the API in the first one. Told to stop, they end in good order.

The first signal lets running attempts finish, for as long as it is said; the second ends them, and their cells are
queued again.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import FrameType
from typing import Protocol

import structlog

from proctor.app import Server
from proctor.kernel.errors import UsageError

__all__ = ["Address", "AddressInUse", "Role", "serve"]

_log = structlog.get_logger(__name__)


class Role(StrEnum):
    """What a process may be of a server."""

    API = "api"
    PLANNER = "planner"
    WORKER = "worker"
    RELAY = "relay"
    OPERATIONS = "operations"
    EVALUATOR = "evaluator"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the API listens. ``port`` 0: any that is free."""

    host: str = "127.0.0.1"
    port: int = 8080
    shared: bool = False
    """Whether other processes of the server may listen there too: the system shares connections out among them."""


class AddressInUse(UsageError):
    """The address can't be listened on."""

    code = "address"
    remedy = "Name another with --host and --port, or stop what listens there."


class _Runs(Protocol):
    def run(self) -> None: ...
    def stop(self) -> None: ...


def serve(server: Server, roles: Sequence[Role], address: Address, ready: Callable[[str], None]) -> None:
    """Run roles until a signal. ``ready`` is told the API's URL, or nothing without it. Raises ``AddressInUse``: before
    any role works, since whoever starts a server twice wants one."""
    listener = None
    if Role.API in roles:
        from proctor.serving.http import listen, serve_http

        listener = listen(address)
    others = [_other(server, role) for role in roles if role is not Role.API]
    threads = [threading.Thread(target=_running, args=(one,), name=type(one).__name__) for one in others]
    with _signals(others) as told:
        for thread in threads:
            thread.start()
        try:
            if listener is not None:
                serve_http(server, listener, ready, told)
            else:
                ready("")
                told.wait()
        finally:
            for one in others:
                one.stop()
            for thread in threads:
                thread.join()


def _other(server: Server, role: Role) -> _Runs:
    if role is Role.PLANNER:
        from proctor.serving.planner import Planner

        return Planner(server)
    if role is Role.RELAY:
        from proctor.serving.relay import Relay

        return Relay(server)
    if role is Role.OPERATIONS:
        from proctor.serving.operations import Operator

        return Operator(server)
    if role is Role.EVALUATOR:
        from proctor.serving.evaluator import ServerEvaluator

        return ServerEvaluator(server)
    from proctor.serving.worker import ServerWorker

    return ServerWorker(server)


def _running(role: _Runs) -> None:
    """A role that broke ends its process: who supervises it starts it again."""
    try:
        role.run()
    except Exception:  # noqa: BLE001  whatever it was, a server with half its roles is none
        _log.exception("role.broke", role=type(role).__name__)
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _signals(others: Sequence[_Runs]) -> Iterator[threading.Event]:
    """Set when a signal came; the second one cancels what runs."""
    told = threading.Event()

    def take(_number: int, _frame: FrameType | None) -> None:
        again = told.is_set()
        told.set()
        for one in others:
            action = getattr(one, "cancel", one.stop) if again else one.stop
            threading.Thread(target=action, daemon=True).start()  # not in the handler: it may hold the lock it needs

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
