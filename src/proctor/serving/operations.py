"""The operations role: does long work of any tenant, two pieces at a time, and removes what was kept long enough.

A heartbeat holds the lease of each piece. Work that is cancelled, or whose lease is lost, ends where it next counts
what it did; a server that stops puts its work back, and the next one does it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.app import Server
from proctor.engine.scratch import make_scratch, remove_scratch
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.service import tenants
from proctor.kernel.canonical import Json
from proctor.kernel.errors import FAULT_WORDS, OwnFault, ProctorError
from proctor.operations import service as operations
from proctor.operations.service import Claimed, Ending
from proctor.operations.tally import Tally
from proctor.sdk.work import DATASET_KINDS, Job, Made, WorkKind, do
from proctor.telemetry.context import read_traceparent, scope
from proctor.telemetry.places import OPERATORS, sweep
from proctor.telemetry.spans import span

__all__ = ["Operator"]

AT_ONCE: int = 2
"""Pieces of work of one process: a long one never holds up a short one alone. More processes do more."""
LOOK_SEC: float = 1.0
"""Between looks for work: somebody waits for it at a terminal."""
HOUSEKEEPING_LOOKS: int = 120
"""Looks between two for files whose time is over: a minute."""

SWEEP_LOOKS: int = 3600
"""Looks between two for log lines whose days are over: an hour."""

T = TypeVar("T")
_NOTED = {
    WorkKind.EXPORT.value: Action.EXPORTED,
    WorkKind.IMPORT.value: Action.IMPORTED,
    WorkKind.DATASET_IMPORT.value: Action.DATASET_MADE,
    WorkKind.SAMPLES_IMPORT.value: Action.SAMPLES_KEPT,
    WorkKind.DATASET_DERIVE.value: Action.DATASET_MADE,
    WorkKind.DATASET_EXPORT.value: Action.EXPORTED,
}
_log = structlog.get_logger(__name__)


def _made_something(request: Mapping[str, Json], result: Json) -> bool:
    """Not where it was only asked what would be made, or where what was to be made is there already."""
    is_there = isinstance(result, Mapping) and result.get("made") is False
    return not request.get("dry_run") and not is_there


class Operator:
    """Runs in a thread of its own until it is stopped."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._stopping = threading.Event()
        self._broken: Exception | None = None
        self._at_work = threading.Event()
        """While the first thread looks or works: only then the others look too."""

    def stop(self) -> None:
        """No new work; what runs is put back where it next counts."""
        self._stopping.set()

    def run(self) -> None:
        """Work until it is stopped. Raises what one of its threads broke by."""
        others = [threading.Thread(target=self._help, name=f"operations-{number}") for number in range(1, AT_ONCE)]
        for thread in others:
            thread.start()
        try:
            self._work(keep_house=True)
        finally:
            self._stopping.set()
            for thread in others:
                thread.join()
        if self._broken is not None:
            raise self._broken

    def _help(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  raised again in the role's own thread
            self._broken = error
            self._stopping.set()

    def _work(self, *, keep_house: bool = False) -> None:
        looks = 0
        while not self._stopping.is_set():
            try:
                if keep_house and looks % HOUSEKEEPING_LOOKS == 0:
                    remove_expired(self._server)
                if keep_house and looks % SWEEP_LOOKS == 0:
                    sweep_logs(self._server)
                looks += 1
                if self._looked(first=keep_house):
                    continue
            except ProctorError as error:
                _log.warning("operations.failed", error=str(error))
            self._stopping.wait(LOOK_SEC)

    def _looked(self, *, first: bool) -> bool:
        """Whether this thread found work and did it."""
        if not first:
            return self._at_work.is_set() and work_once(self._server, self._stopping.is_set)
        self._at_work.set()
        try:
            return work_once(self._server, self._stopping.is_set)
        finally:
            self._at_work.clear()


def work_once(server: Server, stopping: Callable[[], bool] = lambda: False) -> bool:
    """Do one piece of work, if there is one; whether there was."""
    for tenant in server.database.as_scheduler(operations.waiting_tenants):
        claim = partial(operations.claim, tenant=tenant, lease_sec=server.settings.lease_sec)
        claimed = server.database.as_tenant(tenant, claim)
        if claimed is not None:
            with _telling_of(claimed), span("operation", {"kind": claimed.kind, "operation": str(claimed.id)}):
                _Piece(server, claimed, stopping).run()
            return True
    return False


@contextmanager
def _telling_of(claimed: Claimed) -> Iterator[None]:
    """Work under the trace of the request that asked for it."""
    who = {"tenant": claimed.tenant, "user": claimed.actor, "request_id": claimed.request_id or None}
    about = {"operation": claimed.id, "run_set": claimed.request.get("run_set")}
    with scope(read_traceparent(claimed.traceparent), **who, **about):
        yield


def remove_expired(server: Server) -> None:
    """Remove the objects of operations whose time is over: downloads after a week, what was sent once it is used."""
    for tenant, identity in server.database.as_scheduler(operations.expired):
        for key in list(server.objects.list(f"{prefix_of(tenant, identity)}/")):
            server.objects.delete(key)
        server.database.as_tenant(tenant, partial(operations.forget_files, tenant=tenant, identity=identity))


def sweep_logs(server: Server) -> int:
    """Remove log lines, of every tenant and the operators' own, that are older than the settings say; how many files.

    What is kept from before stays where none are kept now.
    """
    days, now = server.settings.log_days, datetime.now(UTC)
    if days == 0:
        return 0
    owners = [OPERATORS, *(str(one.id) for one in server.database.as_scheduler(tenants))]
    return sum(sweep(server.objects, owner, days=days, now=now) for owner in owners)


def prefix_of(tenant: UUID, identity: UUID) -> str:
    """Where an operation's objects are."""
    return f"{tenant}/operations/{identity}"


@dataclass
class _Signals:
    """Why a piece of work is to end, whoever says so."""

    cancelled: bool = False
    lost: bool = False
    over: threading.Event = field(default_factory=threading.Event)


class _Piece:
    """One claimed operation, done."""

    def __init__(self, server: Server, claimed: Claimed, stopping: Callable[[], bool]) -> None:
        self._server, self._claimed, self._stopping = server, claimed, stopping
        self._signals = _Signals()
        self._tally = Tally(self._ends)

    def run(self) -> None:
        """Do it and say how it ended, unless it is somebody else's by then."""
        _log.info("operation.started", kind=self._claimed.kind)
        beating = threading.Thread(target=self._beat, name="operation-heartbeat")
        beating.start()
        try:
            ending = self._done()
        finally:
            self._signals.over.set()
            beating.join()
        if ending is None:
            self._as_tenant(lambda c: operations.put_back(c, self._claimed))
        else:
            self._as_tenant(lambda c: self._settle(c, ending))
            _log.info("operation.ended", kind=self._claimed.kind, state=ending.state)

    def _ends(self) -> bool:
        return self._signals.cancelled or self._signals.lost or self._stopping()

    def _done(self) -> Ending | None:
        """How it ended; ``None`` where it did not."""
        try:
            made = self._do()
        except Exception as error:  # noqa: BLE001  whatever it was, it is this operation's end and not the server's
            if not self._ends():
                return _failed(self._claimed, error)
            return Ending(state="cancelled") if self._signals.cancelled else None
        return Ending(state="done", result=made.result, download=made.download)

    def _do(self) -> Made:
        server, claimed = self._server, self._claimed
        folder = server.settings.home / "tmp"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = make_scratch(folder)
        prefix = f"{prefix_of(claimed.tenant, claimed.id)}/{claimed.token}"  # a zombie writes over nothing
        job = Job(platform=server.platform(claimed.tenant), objects=prefix, scratch=scratch, tally=self._tally)
        try:
            return do(claimed.kind, claimed.request, job)
        finally:
            remove_scratch(scratch)

    def _settle(self, connection: Connection, ending: Ending) -> None:
        claimed, action = self._claimed, _NOTED.get(self._claimed.kind)
        if not operations.settle(connection, claimed, ending, self._tally.progress):
            return
        if action is not None and ending.state == "done" and _made_something(claimed.request, ending.result):
            actor = Actor(user=claimed.actor, key=claimed.key, request_id=claimed.request_id)
            about = "dataset" if claimed.kind in DATASET_KINDS else "run_set"
            detail: dict[str, Json] = {about: str(claimed.request.get(about, ""))}
            if action is Action.DATASET_MADE and isinstance(ending.result, Mapping):
                detail["version"] = ending.result.get("label")
            note(connection, claimed.tenant, actor, action, str(claimed.id), kind=claimed.kind, **detail)

    def _beat(self) -> None:
        lease = self._server.settings.lease_sec
        while not self._signals.over.wait(min(lease / 4, 1.0)):
            try:
                heard = self._as_tenant(
                    lambda c: operations.beat(c, self._claimed, self._tally.progress, lease_sec=lease)
                )
            except ProctorError as error:
                _log.warning("operations.no_heartbeat", error=str(error))
                continue
            self._signals.cancelled |= heard.cancel
            self._signals.lost |= not heard.held

    def _as_tenant(self, work: Callable[[Connection], T]) -> T:
        return self._server.database.as_tenant(self._claimed.tenant, work)


def _failed(claimed: Claimed, error: Exception) -> Ending:
    """What its caller may know: of a fault of ours nothing but that it is one; the log has the rest."""
    if isinstance(error, ProctorError) and not isinstance(error, OwnFault):
        return Ending(state="failed", error=error.as_dict())
    _log.error("operation.broke", kind=claimed.kind, exc_info=error)
    code = error.code if isinstance(error, ProctorError) else OwnFault.code
    told = OwnFault(FAULT_WORDS).as_dict()
    return Ending(state="failed", error={**told, "code": code})
