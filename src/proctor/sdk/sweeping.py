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
from proctor.datasets import registry
from proctor.engine import reading, step_maps
from proctor.identity.requests import ANSWERS_AGE, count_old, remove_old
from proctor.identity.service import tenants
from proctor.jobs import growing
from proctor.jobs import service as jobs
from proctor.models.cache import KIND as MODEL_CACHE
from proctor.objects.store import ListedObject, ObjectStore
from proctor.operations import service as operations
from proctor.results import service as results
from proctor.sdk.leaks import leaks, remove_leaks
from proctor.settings import Settings
from proctor.suites.service import named_archives
from proctor.telemetry.places import minute_of

__all__ = ["UNNAMED_AGE", "Swept", "SweptKind", "sweep"]

UNNAMED_AGE = timedelta(days=7)
"""How long an object that no row names is kept: longer than anything takes from storing one to naming it."""
CACHED_AGE = timedelta(days=90)
"""How long an answer of a model is kept for who asks the same again, and what can be read off a trajectory anew."""
CACHED: frozenset[str] = frozenset({MODEL_CACHE, step_maps.FOLDER})
"""Kinds of which no row names anything."""
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
    answers, look = 0, count_old if dry_run else remove_old
    with open_storage(settings) as (database, objects):
        for tenant in database.as_scheduler(lambda c: [one.id for one in tenants(c)]):
            for kind, item in _Unnamed(database, objects, timedelta(days=settings.log_days)).of(tenant, on_more):
                if not dry_run and kind in _KINDS:
                    objects.delete(item.key)
                found[kind][0] += 1
                found[kind][1] += item.size
            answers += database.as_tenant(tenant, partial(look, tenant=tenant, age=ANSWERS_AGE))
    left = leaks(settings)
    if not dry_run and any(left.values()):
        remove_leaks(settings)
    kinds = [_kind(f"objects of {kind}", found[kind]) for kind in sorted(_KINDS)]
    kinds.append(SweptKind(kind="answers to repeat", count=answers))
    kinds += [SweptKind(kind=f"left by {name} sandboxes", count=count) for name, count in sorted(left.items())]
    return Swept(dry_run=dry_run, kinds=kinds, unknown=_kind("unknown objects", found[_UNKNOWN]))


def _kind(name: str, sums: Sequence[int]) -> SweptKind:
    return SweptKind(kind=name, count=sums[0], size=sums[1])


@dataclass(frozen=True)
class _Unnamed:
    """Objects that are old and that no row names."""

    database: Database
    objects: ObjectStore
    log_age: timedelta

    def of(self, tenant: UUID, on_more: Callable[[int], None]) -> Iterator[tuple[str, ListedObject]]:
        """A tenant's, with their kinds. Rows are read after objects are listed: what was named meanwhile is seen."""
        for batch in _batched(self.objects.listed(f"{tenant}/")):
            on_more(len(batch))
            for kind, items in self._old(batch).items():
                known = self._named(tenant, kind, items)
                yield from ((kind, item) for item in items if item.key not in known)

    def _old(self, batch: Sequence[ListedObject]) -> Mapping[str, list[ListedObject]]:
        kinds: dict[str, list[ListedObject]] = defaultdict(list)
        for item in batch:
            logged = minute_of(item.key)
            age = datetime.now(UTC) - (logged or item.modified)
            kind = _LOGS if logged is not None else _kind_of(item.key)
            if age > {_LOGS: self.log_age, **dict.fromkeys(CACHED, CACHED_AGE)}.get(kind, UNNAMED_AGE):
                kinds[kind].append(item)
        return kinds

    def _named(self, tenant: UUID, kind: str, items: Sequence[ListedObject]) -> set[str]:
        named = _NAMED.get(kind)
        return set() if named is None else self.database.as_tenant(tenant, partial(named, tenant=tenant, items=items))


def _batched(items: Iterable[ListedObject]) -> Iterator[list[ListedObject]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _kind_of(key: str) -> str:
    parts = key.split("/")
    return parts[1] if len(parts) > _PARTS and parts[1] in _NAMED else _UNKNOWN


# --- what rows name ---------------------------------------------------------------------------------------------------


def _artifacts(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    return reading.named_artifacts(connection, tenant, [item.key for item in items])


def _archives(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    return named_archives(connection, tenant, [item.key for item in items])


def _samples(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    return jobs.known_parts(connection, tenant, [item.key for item in items])


def _streams(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    keys = [item.key for item in items]
    owners = set[UUID]()
    for key in keys:
        with suppress(ValueError):
            owners.add(UUID(key.split("/")[2]))
    return growing.named_pieces(connection, tenant, list(owners), keys)


def _results(connection: Connection, tenant: UUID, items: Sequence[ListedObject]) -> set[str]:
    return results.known_paths(connection, tenant, [item.key for item in items])


def _of_ids(
    known: Callable[[Connection, UUID, Sequence[UUID]], set[UUID]],
    connection: Connection,
    tenant: UUID,
    items: Sequence[ListedObject],
) -> set[str]:
    """Those whose id, the third part of their key, is known; one without an id is of nothing."""
    by_id: dict[UUID, list[str]] = defaultdict(list)
    for item in items:
        with suppress(ValueError):
            by_id[UUID(item.key.split("/")[2])].append(item.key)
    return {key for identity in known(connection, tenant, list(by_id)) for key in by_id[identity]}


_NAMED: Mapping[str, Callable[..., set[str]]] = {
    "states": _artifacts,
    "pushed": _artifacts,
    "trajectories": _artifacts,
    "tasks": _archives,
    **dict.fromkeys(CACHED, lambda connection, tenant, items: set()),
    "attempts": partial(_of_ids, reading.attempts_known),
    "operations": partial(_of_ids, operations.with_files),
    "datasets": partial(_of_ids, registry.versions_known),
    "samples": _samples,
    "results": _results,
    "streams": _streams,
}
"""By kind: which of the objects a row names."""
_KINDS: frozenset[str] = frozenset({*_NAMED, _LOGS})
"""What may be removed."""
