"""Planning: from resolved profiles and tasks to a run set whose cells are expected and queued.

Everything of one run set is planned in one transaction under the tenant's plan lock: a crash leaves nothing half
planned, and trial numbers are allocated once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from proctor.database.queries import run_query
from proctor.engine.durations import Measured, measure
from proctor.engine.identity import cell_id, run_set_id
from proctor.engine.lanes import Lane, PlannedLimit, lane_of
from proctor.engine.models import configuration, run_set, run_set_profile
from proctor.engine.outcomes import final_classes
from proctor.engine.policy_book import recall
from proctor.engine.recording import KIND
from proctor.headroom.needs import UNNAMED, Need
from proctor.kernel.canonical import Json
from proctor.queue import service as queue
from proctor.queue.service import Band, Item
from proctor.telemetry.context import trace_id_of_here

__all__ = [
    "Plan",
    "PlannedProfile",
    "PlannedTask",
    "RunSetRow",
    "create",
    "enqueue_undecided",
    "find",
    "why_new",
]

_run = partial(run_query, "proctor.engine")

_CHUNK: int = 2_000
"""Cells per statement: few round trips, and memory that does not grow with the run set."""
UNLIMITED_SEC: float = 3600.0
"""What a task without a time limit is expected to take at most, for the order of service."""


@dataclass(frozen=True, kw_only=True)
class PlannedTask:
    """A task as planning needs it."""

    content_digest: str
    agent_digest: str
    verifier_digest: str
    expected_sec: float
    """By its time limits; what its attempts took counts more, where there are any."""
    need: Need = UNNAMED


@dataclass(frozen=True, kw_only=True)
class PlannedProfile:
    """A profile with its configuration resolved."""

    name: str
    series: str
    configuration: str
    document: Mapping[str, Json]
    provider: str
    limits: tuple[PlannedLimit, ...] = ()
    in_images: bool = False
    """Whether its sandboxes start from images."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run set as asked for. ``reuse_sec`` ``None``: every trial is new."""

    tenant: UUID
    name: str
    spec_digest: str
    suite_id: str
    spec: Mapping[str, Json]
    policy_version: str
    reuse_sec: int | None
    trials: int
    band: Band
    profiles: Sequence[PlannedProfile]
    tasks: Sequence[PlannedTask]

    @property
    def cells(self) -> int:
        """How many it expects."""
        return self.trials * len(self.tasks) * len(self.profiles)


@dataclass(frozen=True, kw_only=True)
class RunSetRow:
    """A run set as stored."""

    id: UUID
    name: str
    spec_digest: str
    suite_id: str
    continued: int
    policy_version: str
    state: str
    reason: str
    trace_id: str
    reuse_sec: int | None
    created_at: datetime
    ended_at: datetime | None
    running_since: datetime
    """When it was last told to go on: a budget of time counts from then."""


class CellKind(NamedTuple):
    """What cells of one profile and one task share."""

    profile: int
    content_digest: str


def find(connection: Connection, plan: Plan) -> RunSetRow | None:
    """The newest run set of this name, file and suite."""
    row = _run(
        connection,
        "find_run_set",
        tenant=plan.tenant,
        name=plan.name,
        spec_digest=plan.spec_digest,
        suite_id=plan.suite_id,
    ).one_or_none()
    return RunSetRow(**row._mapping) if row is not None else None


def why_new(connection: Connection, plan: Plan) -> str:
    """What tells a run set that has to be made from the last one of its name; empty where nothing does."""
    last = _run(connection, "last_of_name", tenant=plan.tenant, name=plan.name).one_or_none()
    if last is None:
        return ""
    changed = {"the file was edited": last.spec_digest != plan.spec_digest}
    changed["the suite's files have changed"] = last.suite_id != plan.suite_id
    return " and ".join(reason for reason, holds in changed.items() if holds)


def moved(connection: Connection, plan: Plan, found: RunSetRow) -> list[str]:
    """What the file resolves to now and did not when the run set was planned, one line a difference."""
    rows = _run(connection, "run_set_context", tenant=plan.tenant, run_set=found.id).all()
    then = {row.name: (row.configuration, row.document) for row in rows}
    lines: list[str] = []
    for profile in plan.profiles:
        known = then.get(profile.name)
        if known is not None and known[0] != profile.configuration:
            lines.extend(f"{profile.name}: {line}" for line in _differences(known[1], profile.document))
    return lines


def _differences(then: Json, now: Json, path: str = "") -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in sorted({*then, *now}):
            yield from _differences(then.get(key), now.get(key), f"{path}.{key}".lstrip("."))
    elif then != now:
        yield f"{path}: was {then!r}, is {now!r}"


def lock(connection: Connection, tenant: UUID) -> None:
    """Plan alone until the transaction ends: two commands with one file at once make one run set."""
    _run(connection, "lock_plan", tenant=tenant)


def create(connection: Connection, plan: Plan) -> UUID:
    """Write a new run set with its configurations, cells and expected cells. Nothing is queued yet."""
    lock(connection, plan.tenant)
    before = find(connection, plan)
    continued = 0 if before is None else before.continued + 1
    identity = run_set_id(plan.tenant, plan.name, plan.spec_digest, plan.suite_id, continued)
    _insert_run_set(connection, plan, identity, continued)
    for position, profile in enumerate(plan.profiles):
        _insert_profile(connection, plan, identity, position, profile)
        _expect(connection, plan, identity, position, profile)
    return identity


def _insert_run_set(connection: Connection, plan: Plan, identity: UUID, continued: int) -> None:
    connection.execute(
        insert(run_set).values(
            tenant_id=plan.tenant,
            id=identity,
            name=plan.name,
            spec_digest=plan.spec_digest,
            suite_id=plan.suite_id,
            continued=continued,
            spec=dict(plan.spec),
            policy_version=plan.policy_version,
            reuse_sec=plan.reuse_sec,
            trace_id=trace_id_of_here(),
        )
    )


def _insert_profile(connection: Connection, plan: Plan, identity: UUID, position: int, profile: PlannedProfile) -> None:
    document = dict(profile.document)
    values = {"tenant_id": plan.tenant, "hash": profile.configuration, "document": document}
    connection.execute(upsert(configuration).values(**values, origin=str(document["origin"])).on_conflict_do_nothing())
    connection.execute(
        insert(run_set_profile).values(
            tenant_id=plan.tenant,
            run_set_id=identity,
            position=position,
            name=profile.name,
            series=profile.series,
            configuration=profile.configuration,
            routing={"provider": profile.provider, "in_images": profile.in_images},
        )
    )


class _Cell(NamedTuple):
    """A cell that a run set expects; ``trial`` is set where it is new."""

    task: PlannedTask
    id: UUID
    reused: bool = False
    trial: int | None = None


def _expect(connection: Connection, plan: Plan, identity: UUID, position: int, profile: PlannedProfile) -> None:
    """Existing trials first, in the order of their numbers, then new ones after the last there is.

    A profile's tasks take the same few statements however many there are; no two of a suite make the same cells.
    """
    existing = _existing(connection, plan, identity, profile)
    lasts = _run(connection, "last_trials", **_tasks_key(plan, profile, plan.tasks)).scalars().all()
    cells = (
        cell
        for task, found, last in zip(plan.tasks, existing, lasts, strict=True)
        for cell in chain(found, _new_cells(plan, profile, task, int(last), plan.trials - len(found)))
    )
    while chunk := list(islice(cells, _CHUNK)):
        _insert_cells(connection, plan, profile, [cell for cell in chunk if cell.trial is not None])
        _insert_expected(connection, plan, identity, position, chunk)


def _new_cells(plan: Plan, profile: PlannedProfile, task: PlannedTask, last: int, missing: int) -> Iterator[_Cell]:
    for trial in range(last + 1, last + missing + 1):
        identity = cell_id(plan.tenant, profile.configuration, task.agent_digest, task.verifier_digest, trial)
        yield _Cell(task, identity, trial=trial)


def _existing(connection: Connection, plan: Plan, identity: UUID, profile: PlannedProfile) -> list[list[_Cell]]:
    """Of each task the cells there are, and that no profile before expects."""
    found: list[list[_Cell]] = [[] for _ in plan.tasks]
    if plan.reuse_sec is None:
        return found
    rows = _run(
        connection,
        "existing_trials",
        **_tasks_key(plan, profile, plan.tasks),
        policy=plan.policy_version,
        run_set=identity,
        reuse=plan.reuse_sec,
        trials=plan.trials,
    )
    for row in rows:
        found[row.place - 1].append(_Cell(plan.tasks[row.place - 1], row.id, reused=row.decided))
    return found


def _insert_cells(connection: Connection, plan: Plan, profile: PlannedProfile, cells: Sequence[_Cell]) -> None:
    if cells:
        key = _tasks_key(plan, profile, [cell.task for cell in cells])
        _run(
            connection,
            "insert_cells",
            **key,
            ids=[cell.id for cell in cells],
            trials=[cell.trial for cell in cells],
        )


def _insert_expected(connection: Connection, plan: Plan, identity: UUID, position: int, cells: Sequence[_Cell]) -> None:
    _run(
        connection,
        "insert_expected",
        tenant=plan.tenant,
        run_set=identity,
        profile=position,
        content_digests=[cell.task.content_digest for cell in cells],
        ids=[cell.id for cell in cells],
        reused=[cell.reused for cell in cells],
    )


def _tasks_key(plan: Plan, profile: PlannedProfile, tasks: Sequence[PlannedTask]) -> dict[str, Any]:
    return {
        "tenant": plan.tenant,
        "configuration": profile.configuration,
        "agent_digests": [task.agent_digest for task in tasks],
        "verifier_digests": [task.verifier_digest for task in tasks],
    }


def enqueue_undecided(
    connection: Connection,
    plan: Plan,
    identity: UUID,
    *,
    revive: bool = False,
    only: frozenset[str] | None = None,
    cells: frozenset[UUID] | None = None,
    only_owed: bool = False,
    limit: int | None = None,
) -> Mapping[CellKind, int]:
    """Queue every cell of a run set that has no verdict; returns how many of each kind. Safe to repeat.

    ``only``: content digests of the tasks to queue; ``cells``: these cells; ``only_owed``: cells that had an attempt;
    ``limit``: at most so many cells; ``revive``: dead letters too.
    """
    tasks = {task.content_digest: task for task in plan.tasks}
    lanes = _Lanes(connection, plan, identity)
    measured = measure(
        connection,
        plan.tenant,
        plan.suite_id,
        [profile.configuration for profile in plan.profiles],
        [task.agent_digest for task in plan.tasks],
    )
    queued: Counter[CellKind] = Counter()
    for page in _undecided(connection, plan, identity, only_owed=only_owed):
        wanted = [
            row
            for row in page
            if (only is None or row.content_digest in only) and (cells is None or row.cell_id in cells)
        ]
        if limit is not None:
            wanted = wanted[: limit - queued.total()]
        items = [
            _item(plan, row, tasks[row.content_digest], lanes.of(row.profile, row.content_digest), measured)
            for row in wanted
        ]
        if items:
            queue.enqueue(connection, plan.tenant, KIND, items, holder=identity, revive=revive)
        queued.update(CellKind(row.profile, row.content_digest) for row in wanted)
        if limit is not None and queued.total() >= limit:
            break
    lanes.limit()
    return queued


def _item(plan: Plan, row: Any, task: PlannedTask, lane: Lane, measured: Measured) -> Item:
    configuration = plan.profiles[row.profile].configuration
    return Item(
        id=row.cell_id,
        provider=lane.name,
        gates=lane.gates,
        band=plan.band,
        expected_sec=measured.expected(configuration, task.agent_digest, task.expected_sec),
        need=task.need,
    )


class _Lanes:
    """The lanes of a run set's cells."""

    def __init__(self, connection: Connection, plan: Plan, identity: UUID) -> None:
        self._connection, self._plan, self._identity = connection, plan, identity
        rows = _run(connection, "suite_images", tenant=plan.tenant, suite_id=plan.suite_id)
        self._images: dict[str, list[str]] = {row.content_digest: row.images for row in rows}
        self._known: dict[CellKind, Lane] = {}

    def of(self, position: int, content_digest: str) -> Lane:
        """The lane of the cells of a profile and task."""
        kind = CellKind(position, content_digest)
        if kind not in self._known:
            profile = self._plan.profiles[position]
            images = self._images.get(content_digest, []) if profile.in_images else []
            keys = [limit.key(self._identity) for limit in profile.limits]
            self._known[kind] = lane_of(profile.provider, images, keys)
        return self._known[kind]

    def limit(self) -> None:
        """Set what the run set's file allows. After its rows: a writer has those before it looks at lanes."""
        every = {limit.key(self._identity): limit.allowed for one in self._plan.profiles for limit in one.limits}
        for key, allowed in sorted(every.items(), key=lambda one: one[0]):
            limits = {"max_running": allowed.concurrency, "per_minute": allowed.per_minute}
            queue.limit_lane(self._connection, self._plan.tenant, KIND, key, **limits)


def _undecided(connection: Connection, plan: Plan, identity: UUID, *, only_owed: bool) -> Iterator[Sequence[Any]]:
    after = UUID(int=0)
    while rows := _run(
        connection,
        "undecided",
        tenant=plan.tenant,
        run_set=identity,
        policy=plan.policy_version,
        after=after,
        only_owed=only_owed,
        never=final_classes(recall(connection, plan.tenant, plan.policy_version)),
        page=_CHUNK,
    ).all():
        yield rows
        after = rows[-1].cell_id


def set_state(connection: Connection, tenant: UUID, identity: UUID, state: str, reason: str = "") -> None:
    """Move a run set to another state."""
    ended = None if state in ("running", "paused") else datetime.now().astimezone()
    since = {"running_since": func.now()} if state == "running" else {}
    connection.execute(
        update(run_set)
        .where(run_set.c.tenant_id == tenant, run_set.c.id == identity)
        .values(state=state, reason=reason, ended_at=ended, **since)
    )


def stored_spec(connection: Connection, tenant: UUID, identity: UUID) -> Mapping[str, Json]:
    """A run set's spec as it was planned."""
    query = select(run_set.c.spec).where(run_set.c.tenant_id == tenant, run_set.c.id == identity)
    spec: Mapping[str, Json] = connection.execute(query).scalar_one()
    return spec
