"""What nobody will ask for again: objects that no row names, answers kept for repeated requests, left sandboxes.

An object is stored before the row that names it, so one that no row names is removed only when it is a week old; and
whoever finds an old one that it is about to name stores it again (``objects.store.FRESH``). What is of no known kind is
told and left alone. Log lines go by their age alone (``PROCTOR_LOG_DAYS``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from uuid import UUID

from sqlalchemy import Connection

from proctor.app import open_storage
from proctor.database.engine import Database
from proctor.engine import reading
from proctor.identity.requests import ANSWERS_AGE, count_old, remove_old
from proctor.identity.service import tenants
from proctor.objects.store import ListedObject, ObjectStore
from proctor.operations import service as operations
from proctor.sdk.leaks import leaks, remove_leaks
from proctor.settings import Settings
from proctor.suites.service import named_archives
from proctor.telemetry.places import is_log

__all__ = ["UNNAMED_AGE", "Swept", "SweptKind", "sweep"]

UNNAMED_AGE = timedelta(days=7)
"""How long an object that no row names is kept: longer than anything takes from storing one to naming it."""
_BATCH: int = 100_000
"""Objects that are looked up at once: some 30 MB, and a tenant's attempts are read once for each."""
_PARTS: int = 2
"""TENANT/KIND/ and something."""
_UNKNOWN, _LOGS = "", "logs"


@dataclass(frozen=True, kw_only=True)
class SweptKind:
    """Things of one kind that are removed, or would be; ``size`` in bytes, 0 for what takes no room to speak of."""

    kind: str
    count: int
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What was removed, or would be (``dry_run``); ``unknown``: objects of no known kind, which are left alone."""

    dry_run: bool
    kinds: Sequence[SweptKind]
    unknown: SweptKind


def sweep(settings: Settings, *, dry_run: bool, on_more: Callable[[int], None] = lambda number: None) -> Swept:
    """Remove what nobody will ask for again, of every tenant. ``on_more`` is told of objects that were looked at."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    answers, ages = 0, {_LOGS: timedelta(days=settings.log_days)}
    with open_storage(settings) as storage:
        database, objects = storage
        for tenant in database.as_scheduler(lambda c: [one.id for one in tenants(c)]):
            for kind, item in _unnamed(storage, tenant, ages, on_more):
                if not dry_run and kind in _NAMED:
                    objects.delete(item.key)
                found[kind][0] += 1
                found[kind][1] += item.size
            answers += database.as_tenant(tenant, _old_answers(tenant, dry_run=dry_run))
    left = leaks(settings)
    if not dry_run and any(left.values()):
        remove_leaks(settings)
    kinds = [_kind(f"objects of {kind}", found[kind]) for kind in sorted(_NAMED)]
    kinds.append(SweptKind(kind="answers to repeat", count=answers))
    kinds += [SweptKind(kind=f"left by {name} sandboxes", count=count) for name, count in sorted(left.items())]
    return Swept(dry_run=dry_run, kinds=kinds, unknown=_kind("unknown objects", found[_UNKNOWN]))


def _kind(name: str, sums: Sequence[int]) -> SweptKind:
    return SweptKind(kind=name, count=sums[0], size=sums[1])


def _old_answers(tenant: UUID, *, dry_run: bool) -> Callable[[Connection], int]:
    look = count_old if dry_run else remove_old
    return lambda connection: look(connection, tenant, ANSWERS_AGE)


def _unnamed(
    storage: tuple[Database, ObjectStore], tenant: UUID, ages: Mapping[str, timedelta], on_more: Callable[[int], None]
) -> Iterator[tuple[str, ListedObject]]:
    """Objects of a tenant that are old and that no row names, with their kinds.

    The rows are read after the objects are listed: what was named meanwhile is seen.
    """
    (database, objects), now = storage, datetime.now(UTC)
    for batch in _batched(objects.listed(f"{tenant}/")):
        on_more(len(batch))
        kinds: dict[str, list[ListedObject]] = defaultdict(list)
        for item in batch:
            kind = _kind_of(item.key)
            if now - item.modified > ages.get(kind, UNNAMED_AGE):
                kinds[kind].append(item)
        for kind, items in kinds.items():
            named = _NAMED.get(kind)
            known = set() if named is None else database.as_tenant(tenant, partial(named, tenant=tenant, items=items))
            yield from ((kind, item) for item in items if item.key not in known)


def _batched(items: Iterable[ListedObject]) -> Iterator[list[ListedObject]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _kind_of(key: str) -> str:
    if is_log(key):
        return _LOGS
    parts = key.split("/")
    return parts[1] if len(parts) > _PARTS and parts[1] in _NAMED else _UNKNOWN


# --- what rows name ---------------------------------------------------------------------------------------------------


def _artifacts(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    return reading.named_artifacts(connection, tenant, [item.key for item in items])


def _archives(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    return named_archives(connection, tenant, [item.key for item in items])


def _attempts(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    by_id = _by_id(items)
    known = reading.attempts_known(connection, tenant, list(by_id))
    return {key for identity in known for key in by_id[identity]}


def _operations(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    by_id = _by_id(items)
    known = operations.with_files(connection, tenant, list(by_id))
    return {key for identity in known for key in by_id[identity]}


def _by_id(items: Sequence[ListedObject]) -> Mapping[UUID, list[str]]:
    """Keys by the id that is their third part; one without an id is of nothing."""
    found: dict[UUID, list[str]] = defaultdict(list)
    for item in items:
        with suppress(ValueError):
            found[UUID(item.key.split("/")[2])].append(item.key)
    return found


def _nothing(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    """Log lines are kept by their age alone."""
    return set()


_NAMED: Mapping[str, Callable[..., set[str]]] = {
    "states": _artifacts,
    "pushed": _artifacts,
    "trajectories": _artifacts,
    "tasks": _archives,
    "attempts": _attempts,
    "operations": _operations,
    _LOGS: _nothing,
}
"""By kind: which of the objects a row names."""
