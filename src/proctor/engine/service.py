"""Use cases of run sets. Everything a person can do with one, for one tenant."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.engine import leaderboards, planning, policy_book, reading, reclassifying
from proctor.engine.blaming import forget_ends
from proctor.engine.breakers import Kind, Scope
from proctor.engine.certificates.certificate import Ground
from proctor.engine.certificates.standing import baseline_reasons, grounds_of
from proctor.engine.choosing import CellChoice, owed_cells
from proctor.engine.errors import RunSetEnded, RunSetImported, RunSetMoved, RunSetRuns, RunSetStopped
from proctor.engine.imports.bringing import is_imported
from proctor.engine.kept_sides import with_tasks_kept
from proctor.engine.lanes import Allowed, limits_of
from proctor.engine.outcomes import OutcomePolicy
from proctor.engine.planning import CellKind, RunSetRow
from proctor.engine.pushes.taking import reasons_against
from proctor.engine.reclassifying import Reclassifier
from proctor.engine.recording import KIND
from proctor.engine.resolving import Resolved, override_reasons, planned_tasks
from proctor.engine.sides import Reference, read_heads
from proctor.engine.spec import RunSetSpec
from proctor.engine.task_names import task_digests
from proctor.engine.tracing import tell_opened, telling_of_run_set
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id
from proctor.kernel.words import counted
from proctor.queue import service as queue
from proctor.suites.service import tasks_of
from proctor.telemetry.context import note

__all__ = ["EngineService", "OnMoved", "Opened", "Rehearsal", "Selection"]

_run = partial(run_query, "proctor.engine")
_log = structlog.get_logger(__name__)

_KEPT_AT_END = range(10_000, 1_000_001)
"""Cells of a run set whose sides are kept when it ends: fewer are soon counted, more would hold others up."""

T = TypeVar("T")


class OnMoved(StrEnum):
    """What to do when a file resolves to something else than when it was last run."""

    ASK = "ask"
    CONTINUE = "continue"
    NEW = "new"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A run set ready to work on. ``wanted``: cells without a verdict that were queued, by profile and task."""

    run_set: RunSetRow
    created: bool
    why_new: str
    """What changed since the last run set of this name, where one was made."""
    wanted: Mapping[CellKind, int]

    @property
    def queued(self) -> int:
        """How many cells were queued."""
        return sum(self.wanted.values())


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What opening a run set would do. ``existing``: the one that would be gone on with."""

    existing: UUID | None
    policy_version: str
    """What it would count by: one that is there may have been reclassified."""
    moved: tuple[str, ...]
    cells: reading.CellCounts
    wanted: Mapping[CellKind, int]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of a run set's cells to work on now. The rest stays expected."""

    limit: int | None = None
    task_glob: str | None = None
    only_owed: bool = False


class EngineService:
    """Run sets of one tenant."""

    def __init__(self, database: Database, tenant: UUID, provider_limits: Mapping[str, Allowed] | None = None) -> None:
        """``provider_limits``: what providers bear, over all run sets of the tenant; others keep what was set."""
        self._database = database
        self.tenant = tenant
        self._provider_limits = provider_limits or {}

    def read(self, work: Callable[[Connection], T]) -> T:
        """Do work that is safe to repeat in a transaction of this tenant, again if the connection breaks."""
        return self._database.as_tenant(self.tenant, work)

    def rehearse(self, resolved: Resolved, *, on_moved: OnMoved, fresh: bool, selection: Selection) -> Rehearsal:
        """What ``open`` would do with the same words, by doing it and taking it back. One that has moved is made anew.

        Others of the tenant wait meanwhile to be planned; a run set of 100,000 new cells takes seconds.
        """

        def work(connection: Connection) -> Rehearsal:
            found = None if fresh else planning.find(connection, resolved.plan)
            moved = planning.moved(connection, resolved.plan, found) if found is not None else []
            choice = OnMoved.NEW if moved and on_moved is OnMoved.ASK else on_moved
            with connection.begin_nested() as taken_back:
                opened = self.open_in(connection, resolved, on_moved=choice, fresh=fresh, selection=selection)
                counts = reading.cell_counts(connection, self.tenant, opened.run_set)
                taken_back.rollback()
            existing = None if opened.created else opened.run_set.id
            return Rehearsal(
                existing=existing,
                policy_version=opened.run_set.policy_version,
                moved=tuple(moved),
                cells=counts,
                wanted=opened.wanted,
            )

        return self.read(work)

    def open(self, resolved: Resolved, *, on_moved: OnMoved, fresh: bool, selection: Selection) -> Opened:
        """Find or make the run set of a file and queue what it owes.

        Raises ``RunSetMoved`` with the differences, and ``NoTaskFits``.
        """
        began = time.time_ns()
        opened = self.read(
            lambda connection: self.open_in(connection, resolved, on_moved=on_moved, fresh=fresh, selection=selection)
        )
        tell_opened(resolved.plan, opened, began)
        return opened

    def open_in(
        self, connection: Connection, resolved: Resolved, *, on_moved: OnMoved, fresh: bool, selection: Selection
    ) -> Opened:
        """``open`` in a transaction of the caller's."""
        only = _globbed(resolved, selection.task_glob)
        planning.lock(connection, self.tenant)
        found = None if fresh else planning.find(connection, resolved.plan)
        if found is not None and on_moved is not OnMoved.CONTINUE:
            found = self._unless_moved(connection, resolved, found, on_moved)
        created, why_new = found is None, ""
        if found is None:
            why_new = planning.why_new(connection, resolved.plan)
            planning.create(connection, resolved.plan)
            found = planning.find(connection, resolved.plan)
            assert found is not None
            self._emit(connection, found, "run_set.created")
        queued = self._queue(connection, resolved, found, selection, only)
        return Opened(run_set=found, created=created, why_new=why_new, wanted=queued)

    def _unless_moved(
        self, connection: Connection, resolved: Resolved, found: RunSetRow, on_moved: OnMoved
    ) -> RunSetRow | None:
        differences = planning.moved(connection, resolved.plan, found)
        if not differences:
            return found
        if on_moved is OnMoved.NEW:
            return None
        raise RunSetMoved("\n  ".join(["What this file resolves to has changed:", *differences]), where=found.name)

    def _queue(
        self,
        connection: Connection,
        resolved: Resolved,
        found: RunSetRow,
        selection: Selection,
        only: frozenset[str] | None,
    ) -> Mapping[CellKind, int]:
        plan = replace(resolved.plan, policy_version=found.policy_version)  # it may have been reclassified
        progress = reading.progress(connection, self.tenant, found)
        if progress.decided == progress.expected:
            return {}
        if selection != Selection():
            queue.let_go(connection, self.tenant, KIND, found.id, drop=False)
        queued = self._enqueue(
            connection,
            plan,
            found.id,
            revive=True,
            only=only,
            only_owed=selection.only_owed,
            limit=selection.limit,
        )
        if queued:
            planning.set_state(connection, self.tenant, found.id, "running")
        return queued

    def _enqueue(
        self, connection: Connection, plan: planning.Plan, identity: UUID, **how: Any
    ) -> Mapping[CellKind, int]:
        """Queue a run set's cells, with its share of failures counted anew; and say what its providers bear, if set."""
        queued = planning.enqueue_undecided(connection, plan, identity, **how)
        for provider in sorted({profile.provider for profile in plan.profiles} & self._provider_limits.keys()):
            allowed = self._provider_limits[provider]
            limits = {"max_running": allowed.concurrency, "per_minute": allowed.per_minute}
            queue.limit_lane(connection, self.tenant, KIND, provider, **limits)
        forget_ends(connection, self.tenant, Kind.RUN_SET, str(identity))
        return queued

    def unblock(self, scope: Scope) -> bool:
        """Open what is closed at once and count its failures anew; whether it was closed."""

        def work(connection: Connection) -> bool:
            opened = queue.open_lane(connection, self.tenant, KIND, scope.key)
            if opened:
                forget_ends(connection, self.tenant, scope.kind, scope.name)
            return opened

        return self.read(work)

    def finish(self, identity: UUID, *, paused_reason: str | None = None) -> RunSetRow:
        """Say how a run set ended once nothing of it is left to do, and append leaderboard revisions."""

        def work(connection: Connection) -> tuple[RunSetRow, bool, int]:
            row = reading.find_run_set(connection, self.tenant, str(identity))
            progress = reading.progress(connection, self.tenant, row)
            state, reason = _ending(row, progress, paused_reason)
            if state == row.state == "complete" and self._published(connection, row):
                return (
                    row,
                    False,
                    progress.expected,
                )  # its revisions were appended with that word, and verdicts are final
            if state == "paused":
                queue.let_go(connection, self.tenant, KIND, identity, drop=False)
            changed = (state, reason) != (row.state, row.reason)
            if changed:
                planning.set_state(connection, self.tenant, identity, state, reason)
                self._emit(connection, row, f"run_set.{state}")
            row = reading.find_run_set(connection, self.tenant, str(identity))
            self._publish(connection, row)
            return row, changed, progress.expected

        row, changed, cells = self.read(work)
        if changed:
            self._tell(row, row.state, reason=row.reason or None)
        if row.state not in ("running", "paused"):
            self._drop_lanes()
            if cells in _KEPT_AT_END:
                self._keep_sides(row)
        return row

    def _keep_sides(self, row: RunSetRow) -> None:
        """Count its tasks now, and not when somebody first compares it."""
        whole = Reference(text=row.name, run_set=row, profile=None)
        with_tasks_kept(self.read, self.tenant, self.read(lambda c: read_heads(c, self.tenant, whole)))

    def _drop_lanes(self) -> None:
        """What cells of ended run sets waited in. Its own transaction: who queues cells meanwhile holds nobody up."""
        self.read(lambda connection: queue.drop_lanes(connection, self.tenant, KIND))

    def _published(self, connection: Connection, row: RunSetRow) -> bool:
        """Whether its last revisions still give the reasons of today: a certificate made since is one fewer."""
        last = _run(connection, "last_reasons", tenant=self.tenant, run_set=row.id, suite_id=row.suite_id).scalars()
        today = self.reasons(connection, row)
        own = ("coverage: ", "withdrawn: ")
        return all([one for one in reasons if not one.startswith(own)] == today for reasons in last)

    def publish(self, identity: UUID) -> None:
        """Append leaderboard revisions where the last ones no longer say what the table says."""
        self.read(lambda c: self._publish(c, reading.find_run_set(c, self.tenant, str(identity))))

    def _publish(self, connection: Connection, row: RunSetRow) -> None:
        for one in leaderboards.leaderboard(connection, self.tenant, row, self.reasons(connection, row)):
            _run(
                connection,
                "add_leaderboard_entry",
                tenant=self.tenant,
                suite_id=row.suite_id,
                configuration=one.configuration,
                run_set=row.id,
                profile=one.profile,
                series=one.series,
                policy=row.policy_version,
                counts=json.dumps(leaderboards.counts_document(one)),
                comparable=one.comparable,
                reasons=json.dumps(list(one.reasons)),
            )

    def reasons(self, connection: Connection, row: RunSetRow) -> list[str]:
        """What makes every row of a run set not comparable: its policy, its spec, and what its tasks are worth now."""
        spec = RunSetSpec.model_validate(planning.stored_spec(connection, self.tenant, row.id))
        grounds = grounds_of(connection, self.tenant, row.id)
        baseline = baseline_reasons(connection, self.tenant, row.suite_id, grounds)
        pushed = reasons_against(reading.profiles_of(connection, self.tenant, row.id))
        return [*pushed, *policy_book.reasons_against(row.policy_version), *override_reasons(spec), *baseline]

    def reasons_before(self, resolved: Resolved) -> list[str]:
        """The same before anything is started."""
        plan = resolved.plan
        grounds = {json.dumps(one.document["sandbox"], sort_keys=True): _ground(one) for one in plan.profiles}
        found = self.read(lambda c: baseline_reasons(c, self.tenant, plan.suite_id, grounds.values()))
        return [*resolved.reasons, *found]

    def pause(self, identity: UUID, reason: str = "by hand") -> None:
        """Take a run set's cells out of service; what runs, finishes. Cells others want go on for them."""
        self._leave(identity, "paused", reason, drop=False)

    def cancel(self, identity: UUID, reason: str = "by hand") -> None:
        """End a run set and, at its workers' next heartbeat, what runs of it; its cells stay owed for ``resume``."""
        self._leave(identity, "cancelled", reason, drop=True)

    def _leave(self, identity: UUID, state: str, reason: str, *, drop: bool) -> None:
        def work(connection: Connection) -> RunSetRow:
            row = reading.find_run_set(connection, self.tenant, str(identity))
            if is_imported(self.stored_plan(connection, row).profiles):
                raise RunSetImported(where=row.name)
            if row.state == "complete" or (row.state == "cancelled" and state == "paused"):
                remedy = "`proctor run` with --fresh runs it again." if row.state == "complete" else None
                raise RunSetEnded(f"It is {row.state}.", where=row.name, remedy=remedy)
            queue.let_go(connection, self.tenant, KIND, identity, drop=drop)
            planning.set_state(connection, self.tenant, identity, state, reason)
            self._emit(connection, row, f"run_set.{state}")
            return row

        self._tell(self.read(work), state, reason=reason)
        if drop:
            self._drop_lanes()

    def resume(self, identity: UUID, choice: CellChoice | None = None) -> int:
        """Queue every cell without a verdict again, dead letters too; returns how many. A complete one stays so.

        One that was stopped goes on even where its last cells were decided meanwhile: it has yet to be said to be over.
        ``choice``: only these cells. Raises ``RunSetStopped`` where it was stopped: others of it would stay so.
        """

        def work(connection: Connection) -> tuple[RunSetRow, int]:
            row = reading.find_run_set(connection, self.tenant, str(identity))
            plan = self.stored_plan(connection, row)
            if is_imported(plan.profiles):
                raise RunSetImported(where=row.name)
            only = None
            if choice is not None:
                if row.state in ("paused", "cancelled"):
                    raise RunSetStopped(f"It is {row.state}.", where=row.name)
                only = owed_cells(connection, self.tenant, row, choice)
            queued = self._enqueue(connection, self._with_tasks(connection, plan), identity, revive=True, cells=only)
            if queued or row.state in ("paused", "cancelled"):
                planning.set_state(connection, self.tenant, identity, "running")
                self._emit(connection, row, "run_set.resumed")
            return row, sum(queued.values())

        row, queued = self.read(work)
        self._tell(row, "resumed", queued=queued)
        return queued

    def keep_policy(self, source: str, *, where: str) -> OutcomePolicy:
        """Store an outcome policy file. Raises ``PolicyInvalid`` naming the place."""
        return self.read(lambda connection: policy_book.keep(connection, self.tenant, source, where=where))

    def reclassify(self, row: RunSetRow, policy: OutcomePolicy, on_page: Callable[[int], None]) -> None:
        """Append the outcomes of a run set's attempts under a policy; its numbers stay what they are until ``pin``."""
        reclassifier, after = Reclassifier(self.tenant, row, policy), UUID(int=0)
        while True:
            page = partial(reclassifier.page, after=after)
            done, after = self.read(page)
            if not done:
                return
            on_page(done)

    def pin(self, row: RunSetRow, version: str) -> int:
        """Move a run set to a policy that it was reclassified under; returns how many cells are owed now.

        They are queued again, and a leaderboard revision is appended; old revisions stay.
        """

        def work(connection: Connection) -> int:
            planning.lock(connection, self.tenant)
            if reading.progress(connection, self.tenant, row).running:
                raise RunSetRuns(where=row.name)
            now = reclassifying.pin(connection, self.tenant, row, version)
            reclassifying.drop_dead_letters(connection, self.tenant, now)
            owed = self._reopen(connection, now)
            self._emit(connection, now, "run_set.reclassified")
            self._publish(connection, now)
            return owed

        return self.read(work)

    def _reopen(self, connection: Connection, row: RunSetRow) -> int:
        """Queue what a run set owes, but for one that somebody paused or cancelled; returns how many cells.

        Of results that others made nothing is queued, and one whose import was cut off stays that.
        """
        plan, imported = self.stored_plan(connection, row), False
        if row.state in ("paused", "cancelled") or (imported := is_imported(plan.profiles)):
            progress = reading.progress(connection, self.tenant, row)
            if imported and row.state != "running":
                planning.set_state(connection, self.tenant, row.id, *_ending(row, progress, None))
            return progress.expected - progress.decided
        owed = sum(self._enqueue(connection, self._with_tasks(connection, plan), row.id).values())
        progress = reading.progress(connection, self.tenant, row)
        state, reason = ("running", "reclassified") if owed else _ending(row, progress, None)
        planning.set_state(connection, self.tenant, row.id, state, reason)
        return owed

    def stored_plan(self, connection: Connection, row: RunSetRow) -> planning.Plan:
        """A run set's plan as it was stored, without its tasks."""
        stored = planning.stored_spec(connection, self.tenant, row.id)
        spec = RunSetSpec.model_validate(stored)
        profiles = reading.profiles_of(connection, self.tenant, row.id)
        return planning.Plan(
            tenant=self.tenant,
            name=row.name,
            spec_digest=row.spec_digest,
            suite_id=row.suite_id,
            spec=stored,
            policy_version=row.policy_version,
            reuse_sec=row.reuse_sec,
            trials=spec.trials,
            band=queue.Band[spec.execution.priority.upper()],
            profiles=[_planned(profile, spec) for profile in profiles],
            tasks=[],
        )

    def _with_tasks(self, connection: Connection, plan: planning.Plan) -> planning.Plan:
        """A stored plan with its tasks, to queue their cells by what they need."""
        tasks = tasks_of(connection, self.tenant, plan.suite_id)
        return replace(plan, tasks=planned_tasks(tasks, RunSetSpec.model_validate(plan.spec)))

    def stored_spec(self, identity: UUID) -> RunSetSpec:
        """A run set's spec as it was planned."""
        stored = self.read(lambda connection: planning.stored_spec(connection, self.tenant, identity))
        return RunSetSpec.model_validate(stored)

    def work_left(self, identity: UUID) -> Callable[[], bool]:
        """Whether anything of a run set is still queued, waiting or running anywhere."""

        return lambda: self.read(lambda connection: reading.queue_left(connection, self.tenant, identity)) > 0

    def _tell(self, row: RunSetRow, what: str, **facts: Json) -> None:
        """In the log, once it is committed."""
        note(run_set=row.id)
        with telling_of_run_set(self.tenant, row):
            _log.info(f"run_set.{what}", **facts)

    def _emit(self, connection: Connection, row: RunSetRow, name: str) -> None:
        event = {
            "id": str(new_id()),
            "name": name,
            "subject": str(row.id),
            "trace_id": row.trace_id,
            "payload": {"name": row.name},
        }
        _run(connection, "insert_events", tenant=self.tenant, rows=json.dumps([event]))


def _ending(row: RunSetRow, progress: reading.Progress, paused_reason: str | None) -> tuple[str, str]:
    if progress.decided == progress.expected:
        return "complete", ""
    if row.state in ("paused", "cancelled"):
        return row.state, row.reason  # somebody said so while it ran
    if paused_reason is not None:
        return "paused", paused_reason
    if progress.live:
        return "running", ""
    return "complete_with_gaps", f"{counted(progress.expected - progress.decided, 'cell')} without a verdict"


def _planned(profile: Any, spec: RunSetSpec) -> planning.PlannedProfile:
    routing = profile["routing"]
    return planning.PlannedProfile(
        name=profile["name"],
        series=profile["series"],
        configuration=profile["configuration"],
        document=profile["document"],
        provider=routing["provider"],
        limits=limits_of(spec, profile["name"], routing["provider"]),
        in_images=routing.get("in_images", False),  # what was planned before there were images does not say
    )


def _ground(profile: planning.PlannedProfile) -> Ground:
    sandbox: Any = profile.document["sandbox"]
    return Ground(backend=sandbox["backend"], environment=sandbox["environment"])


def _globbed(resolved: Resolved, glob: str | None) -> frozenset[str] | None:
    return None if glob is None else frozenset(task_digests(resolved.tasks, glob))
