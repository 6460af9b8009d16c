"""Operations: asked for, claimed by one process at a time, beaten for while they run, settled once.

A claim is a lease with a token that every later write carries, so that a process which was taken for dead changes
nothing any more. Work is written so that doing it again is harmless; an operation whose process died is done again,
until ``LOSSES`` processes died with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection, Row, and_, func, insert, or_, select, update

from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id
from proctor.objects.store import StoredObject
from proctor.operations.errors import OperationEnded, OperationLost, OperationsFull, OperationUnknown
from proctor.operations.models import operation
from proctor.telemetry.context import traceparent

__all__ = [
    "Beat",
    "Claimed",
    "Ending",
    "NewOperation",
    "Operation",
    "Progress",
    "Receipt",
    "State",
    "beat",
    "cancel",
    "claim",
    "create",
    "expired",
    "files_of",
    "find",
    "forget_files",
    "list_operations",
    "put_back",
    "settle",
    "waiting_tenants",
    "with_files",
]

WAITING: int = 100
"""Operations of one tenant that may wait or run at once: nobody needs more, and a loop is stopped."""
LOSSES: int = 3
"""Processes that may die with one operation: as for cells, what kills three is the cause."""
KEPT = timedelta(days=7)
"""How long what an operation made can be downloaded: a week's holiday, and exports can be made again."""

_t = operation.c
State = Literal["queued", "running", "done", "failed", "cancelled"]
_ENDED = ("done", "failed", "cancelled")


@dataclass(frozen=True, kw_only=True)
class NewOperation:
    """What is asked for. ``id``: given where objects of its own are there already."""

    kind: str
    request: Mapping[str, Json]
    actor: UUID | None = None
    key: UUID | None = None
    request_id: str = ""
    id: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far it is. ``total``: ``None`` where nobody knows; ``words``: of what."""

    done: int
    total: int | None
    words: str


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """An operation in a list."""

    id: UUID
    kind: str
    state: str
    progress: Progress
    error: Mapping[str, Any] | None
    actor: UUID | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    cancel_asked: bool
    download_until: datetime | None
    """Until when what it made can be downloaded; ``None`` where there is nothing to."""


@dataclass(frozen=True, kw_only=True)
class Operation(Receipt):
    """An operation with what was asked for and what came of it."""

    request: Mapping[str, Any]
    result: Any


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """An operation that this process works on."""

    tenant: UUID
    id: UUID
    kind: str
    request: Mapping[str, Any]
    actor: UUID | None
    key: UUID | None
    request_id: str
    traceparent: str | None
    token: int


@dataclass(frozen=True, kw_only=True)
class Beat:
    """What a heartbeat hears: whether the claim still holds, and whether somebody wants it ended."""

    held: bool
    cancel: bool


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How an operation ended. ``error``: as ``ProctorError.as_dict`` has it."""

    state: str
    result: Json = None
    error: Mapping[str, Json] | None = None
    download: StoredObject | None = None


def create(connection: Connection, tenant: UUID, new: NewOperation) -> Operation:
    """Ask for one. Raises ``OperationsFull``."""
    open_ = select(func.count()).select_from(operation).where(_t.tenant_id == tenant, _t.state.not_in(_ENDED))
    if connection.execute(open_).scalar_one() >= WAITING:
        raise OperationsFull()
    identity = new.id or new_id()
    values = {"kind": new.kind, "request": dict(new.request), "actor": new.actor, "key_id": new.key}
    asked = {"request_id": new.request_id, "traceparent": traceparent()}
    connection.execute(insert(operation).values(tenant_id=tenant, id=identity, **asked, **values))
    return find(connection, tenant, identity)


def find(connection: Connection, tenant: UUID, identity: UUID) -> Operation:
    """Raises ``OperationUnknown``."""
    row = connection.execute(select(operation).where(_is(tenant, identity))).one_or_none()
    if row is None:
        raise OperationUnknown()
    return Operation(**_receipt(row), request=row.request, result=row.result)


def list_operations(
    connection: Connection,
    tenant: UUID,
    *,
    state: State | None = None,
    kind: str | None = None,
    before: UUID | None = None,
    limit: int = 100,
) -> list[Receipt]:
    """A page of those in a state and of a kind, the newest first."""
    columns = [column for column in operation.c if column.name not in ("request", "result")]
    query = select(*columns).where(_t.tenant_id == tenant).order_by(_t.id.desc()).limit(limit)
    if state is not None:
        query = query.where(_t.state == state)
    if kind is not None:
        query = query.where(_t.kind == kind)
    if before is not None:
        query = query.where(_t.id < before)
    return [Receipt(**_receipt(row)) for row in connection.execute(query)]


def cancel(connection: Connection, tenant: UUID, identity: UUID) -> Operation:
    """End what waits; what runs is told to. Raises ``OperationUnknown``, ``OperationEnded``."""
    row = connection.execute(select(_t.state).where(_is(tenant, identity)).with_for_update()).one_or_none()
    if row is None:
        raise OperationUnknown()
    if row.state in _ENDED:
        raise OperationEnded(f"It is {row.state}.")
    ended = {"state": "cancelled", "ended_at": func.now(), "files_until": func.now()} if row.state == "queued" else {}
    connection.execute(update(operation).where(_is(tenant, identity)).values(cancel_asked=True, **ended))
    return find(connection, tenant, identity)


# --- the role's ---------------------------------------------------------------------------------------------------


def waiting_tenants(connection: Connection) -> list[UUID]:
    """Whose operations can be claimed, in a scheduler's transaction: first who has the fewest running."""
    running = func.count().filter(_t.state == "running", _t.lease_until > func.clock_timestamp())
    claimable = func.min(_t.created_at).filter(_claimable())
    query = select(_t.tenant_id).where(_t.state.in_(("queued", "running"))).group_by(_t.tenant_id)
    found = connection.execute(query.having(claimable.is_not(None)).order_by(running, claimable))
    return list(found.scalars())


def claim(connection: Connection, tenant: UUID, *, lease_sec: float) -> Claimed | None:
    """The oldest that waits, or whose process died; nobody else gets it while the lease holds."""
    _give_up(connection, tenant)
    query = select(_t.id, _t.state).where(_t.tenant_id == tenant, _claimable())
    row = connection.execute(
        query.order_by(_t.created_at, _t.id).limit(1).with_for_update(skip_locked=True)
    ).one_or_none()
    if row is None:
        return None
    values = {"state": "running", "token": _t.token + 1, "lease_until": _until(lease_sec)}
    lost = _t.losses + (1 if row.state == "running" else 0)
    taken = update(operation).where(_is(tenant, row.id)).returning(operation)
    found = connection.execute(
        taken.values(**values, losses=lost, started_at=func.coalesce(_t.started_at, func.now()))
    ).one()
    return Claimed(
        tenant=tenant,
        id=found.id,
        kind=found.kind,
        request=found.request,
        actor=found.actor,
        key=found.key_id,
        request_id=found.request_id,
        traceparent=found.traceparent,
        token=found.token,
    )


def _give_up(connection: Connection, tenant: UUID) -> None:
    dead = and_(_t.tenant_id == tenant, _t.state == "running", _t.lease_until < func.clock_timestamp())
    values = {"state": "failed", "error": OperationLost().as_dict(), "lease_until": None}
    connection.execute(
        update(operation)
        .where(dead, _t.losses >= LOSSES - 1)
        .values(**values, losses=_t.losses + 1, ended_at=func.now(), files_until=func.now())
    )


def beat(connection: Connection, claimed: Claimed, progress: Progress, *, lease_sec: float) -> Beat:
    """Say how far it is, and hold it for another lease."""
    values = {"done": progress.done, "total": progress.total, "words": progress.words}
    row = connection.execute(
        update(operation)
        .where(_mine(claimed))
        .values(**values, lease_until=_until(lease_sec))
        .returning(_t.cancel_asked)
    ).one_or_none()
    return Beat(held=row is not None, cancel=row is not None and bool(row.cancel_asked))


def settle(connection: Connection, claimed: Claimed, ending: Ending, progress: Progress) -> bool:
    """End it; whether it was still this claim's to end."""
    kept = ending.download
    download = None if kept is None else {"key": kept.key, "sha256": kept.sha256, "size": kept.size}
    values = {
        "state": ending.state,
        "result": ending.result,
        "error": None if ending.error is None else dict(ending.error),
        "download": download,
        "files_until": func.now() if download is None else func.now() + KEPT,
        "done": progress.done,
        "total": progress.total,
        "words": progress.words,
    }
    done = update(operation).where(_mine(claimed)).values(**values, lease_until=None, ended_at=func.now())
    return bool(connection.execute(done).rowcount)


def put_back(connection: Connection, claimed: Claimed) -> None:
    """Let another process have it; nobody died."""
    connection.execute(update(operation).where(_mine(claimed)).values(state="queued", lease_until=None))


def files_of(connection: Connection, tenant: UUID, identity: UUID) -> StoredObject | None:
    """What can be downloaded of an operation, ``None`` where there is nothing, or not any more."""
    row = connection.execute(
        select(_t.download).where(_is(tenant, identity), _t.files_until > func.now(), _t.download.is_not(None))
    ).one_or_none()
    return None if row is None else StoredObject(**row.download)


def expired(connection: Connection) -> Sequence[tuple[UUID, UUID]]:
    """Operations whose files are to be removed, by tenant and id, in a scheduler's transaction."""
    found = connection.execute(select(_t.tenant_id, _t.id).where(_t.files_until < func.now()).limit(100))
    return [(row.tenant_id, row.id) for row in found]


def with_files(connection: Connection, tenant: UUID, identities: Sequence[UUID]) -> set[UUID]:
    """Which of these operations there are whose objects are still needed."""
    mine = (_t.tenant_id == tenant) & _t.id.in_(list(identities))
    needed = _t.files_until.is_not(None) | _t.ended_at.is_(None)
    return set(connection.execute(select(_t.id).where(mine, needed)).scalars())


def forget_files(connection: Connection, tenant: UUID, identity: UUID) -> None:
    """Its objects are gone."""
    connection.execute(update(operation).where(_is(tenant, identity)).values(download=None, files_until=None))


def _receipt(row: Row[Any]) -> dict[str, Any]:
    names = ("id", "kind", "state", "error", "actor", "created_at", "started_at", "ended_at", "cancel_asked")
    return {
        **{name: getattr(row, name) for name in names},
        "progress": Progress(done=row.done, total=row.total, words=row.words),
        "download_until": row.files_until if row.download else None,
    }


def _claimable() -> Any:
    died = and_(_t.state == "running", _t.lease_until < func.clock_timestamp())
    return or_(_t.state == "queued", died)


def _until(lease_sec: float) -> Any:
    return func.clock_timestamp() + timedelta(seconds=lease_sec)


def _is(tenant: UUID, identity: UUID) -> Any:
    return and_(_t.tenant_id == tenant, _t.id == identity)


def _mine(claimed: Claimed) -> Any:
    return and_(_is(claimed.tenant, claimed.id), _t.token == claimed.token, _t.state == "running")
