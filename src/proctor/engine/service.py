"""Use cases of run sets. Everything a person can do with one, for one tenant."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatch
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.engine import planning, policy_book, reading, reclassifying
from proctor.engine.errors import NoTaskFits, RunSetEnded, RunSetMoved, RunSetRuns
from proctor.engine.outcomes import OutcomePolicy
from proctor.engine.planning import Preview, RunSetRow
from proctor.engine.reclassifying import Reclassifier
from proctor.engine.recording import KIND
from proctor.engine.resolving import Resolved, override_reasons
from proctor.engine.spec import RunSetSpec
from proctor.kernel.ids import new_id
from proctor.kernel.words import counted
from proctor.queue import service as queue

__all__ = ["EngineService", "OnMoved", "Opened", "Selection", "fitting", "matches", "task_digests"]

_run = partial(run_query, "proctor.engine")


T = TypeVar("T")
_Named = TypeVar("_Named", bound=Any)


class OnMoved(StrEnum):
    """What to do when a file resolves to something else than when it was last run."""

    ASK = "ask"
    CONTINUE = "continue"
    NEW = "new"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A run set ready to work on. ``queued``: cells without a verdict that were queued."""

    run_set: RunSetRow
    created: bool
    why_new: str
    """What changed since the last run set of this name, where one was made."""
    queued: int


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of a run set's cells to work on now. The rest stays expected."""

    limit: int | None = None
    task_glob: str | None = None
    only_owed: bool = False


class EngineService:
    """Run sets of one tenant."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        self._database = database
        self.tenant = tenant

    def read(self, work: Callable[[Connection], T]) -> T:
        """Do work that is safe to repeat in a transaction of this tenant, again if the connection breaks."""
        return self._database.as_tenant(self.tenant, work)

    def preview(self, resolved: Resolved) -> tuple[RunSetRow | None, list[str], Preview]:
        """The run set this file has, how what it resolves to has moved, and what starting it would take."""

        def work(connection: Connection) -> tuple[RunSetRow | None, list[str], Preview]:
            found = planning.find(connection, resolved.plan)
            moved = planning.moved(connection, resolved.plan, found) if found else []
            if found is not None and not moved:
                return found, [], self._preview_of(connection, found)
            return found, moved, planning.preview(connection, resolved.plan)

        return self.read(work)

    def _preview_of(self, connection: Connection, found: RunSetRow) -> Preview:
        progress = reading.progress(connection, self.tenant, found)
        return Preview(decided=progress.decided, owed=progress.expected - progress.decided, new=0)

    def open(self, resolved: Resolved, *, on_moved: OnMoved, fresh: bool, selection: Selection) -> Opened:
        """Find or make the run set of a file and queue what it owes.

        Raises ``RunSetMoved`` with the differences, and ``NoTaskFits``.
        """
        only = _globbed(resolved, selection.task_glob)

        def work(connection: Connection) -> Opened:
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
            return Opened(run_set=found, created=created, why_new=why_new, queued=queued)

        return self.read(work)

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
    ) -> int:
        plan = replace(resolved.plan, policy_version=found.policy_version)  # it may have been reclassified
        progress = reading.progress(connection, self.tenant, found)
        if progress.decided == progress.expected:
            return 0
        if selection != Selection():
            queue.let_go(connection, self.tenant, KIND, found.id, drop=False)
        planning.set_state(connection, self.tenant, found.id, "running")
        return planning.enqueue_undecided(
            connection,
            plan,
            found.id,
            revive=True,
            only=only,
            only_owed=selection.only_owed,
            limit=selection.limit,
        )

    def finish(self, identity: UUID, *, paused_reason: str | None = None) -> RunSetRow:
        """Say how a run set ended once nothing of it is left to do, and append leaderboard revisions."""

        def work(connection: Connection) -> RunSetRow:
            row = reading.find_run_set(connection, self.tenant, str(identity))
            progress = reading.progress(connection, self.tenant, row)
            state, reason = _ending(row, progress, paused_reason)
            if state == row.state == "complete":
                return row  # its revisions were appended with that word, and verdicts are final
            if state == "paused":
                queue.let_go(connection, self.tenant, KIND, identity, drop=False)
            if (state, reason) != (row.state, row.reason):
                planning.set_state(connection, self.tenant, identity, state, reason)
                self._emit(connection, row, f"run_set.{state}")
            row = reading.find_run_set(connection, self.tenant, str(identity))
            self._publish(connection, row)
            return row

        return self.read(work)

    def _publish(self, connection: Connection, row: RunSetRow) -> None:
        for one in reading.leaderboard(connection, self.tenant, row, self.reasons(connection, row)):
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
                counts=json.dumps(reading.counts_document(one)),
                comparable=one.comparable,
                reasons=json.dumps(list(one.reasons)),
            )

    def reasons(self, connection: Connection, row: RunSetRow) -> list[str]:
        """What makes every row of a run set not comparable, from its spec as planned."""
        spec = RunSetSpec.model_validate(planning.stored_spec(connection, self.tenant, row.id))
        return override_reasons(spec)

    def pause(self, identity: UUID, reason: str = "by hand") -> None:
        """Take a run set's cells out of service; what runs, finishes. Cells others want go on for them."""
        self._leave(identity, "paused", reason, drop=False)

    def cancel(self, identity: UUID, reason: str = "by hand") -> None:
        """End a run set; its cells stay expected and owed, and ``resume`` brings them back."""
        self._leave(identity, "cancelled", reason, drop=True)

    def _leave(self, identity: UUID, state: str, reason: str, *, drop: bool) -> None:

        def work(connection: Connection) -> None:
            row = reading.find_run_set(connection, self.tenant, str(identity))
            if row.state == "complete" or (row.state == "cancelled" and state == "paused"):
                remedy = "`proctor run` with --fresh runs it again." if row.state == "complete" else None
                raise RunSetEnded(f"It is {row.state}.", where=row.name, remedy=remedy)
            queue.let_go(connection, self.tenant, KIND, identity, drop=drop)
            planning.set_state(connection, self.tenant, identity, state, reason)
            self._emit(connection, row, f"run_set.{state}")

        self.read(work)

    def resume(self, identity: UUID) -> int:
        """Queue every owed cell again, dead letters too; returns how many."""

        def work(connection: Connection) -> int:
            row = reading.find_run_set(connection, self.tenant, str(identity))
            plan = self.stored_plan(connection, row)
            planning.set_state(connection, self.tenant, identity, "running")
            self._emit(connection, row, "run_set.resumed")
            return planning.enqueue_undecided(connection, plan, identity, revive=True)

        return self.read(work)

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
        """Queue what a run set owes, but for one that somebody paused or cancelled; returns how many cells."""
        if row.state in ("paused", "cancelled"):
            progress = reading.progress(connection, self.tenant, row)
            return progress.expected - progress.decided
        owed = planning.enqueue_undecided(connection, self.stored_plan(connection, row), row.id)
        progress = reading.progress(connection, self.tenant, row)
        state, reason = ("running", "reclassified") if owed else _ending(row, progress, None)
        planning.set_state(connection, self.tenant, row.id, state, reason)
        return owed

    def stored_plan(self, connection: Connection, row: RunSetRow) -> planning.Plan:
        """A run set's plan as it was stored, enough to queue its cells again."""
        spec = RunSetSpec.model_validate(planning.stored_spec(connection, self.tenant, row.id))
        profiles = reading.profiles_of(connection, self.tenant, row.id)
        return planning.Plan(
            tenant=self.tenant,
            name=row.name,
            spec_digest=row.spec_digest,
            suite_id=row.suite_id,
            spec={},
            policy_version=row.policy_version,
            reuse_sec=row.reuse_sec,
            trials=spec.trials,
            band=queue.Band[spec.execution.priority.upper()],
            profiles=[_planned(profile) for profile in profiles],
            tasks=[],
        )

    def stored_spec(self, identity: UUID) -> RunSetSpec:
        """A run set's spec as it was planned."""
        stored = self.read(lambda connection: planning.stored_spec(connection, self.tenant, identity))
        return RunSetSpec.model_validate(stored)

    def work_left(self, identity: UUID) -> Callable[[], bool]:
        """Whether anything of a run set is still queued, waiting or running anywhere."""

        return lambda: self.read(lambda connection: reading.queue_left(connection, self.tenant, identity)) > 0

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
    return "complete_with_gaps", f"{counted(progress.expected - progress.decided, 'cell')} owed"


def _planned(profile: Any) -> planning.PlannedProfile:
    return planning.PlannedProfile(
        name=profile["name"],
        series=profile["series"],
        configuration=profile["configuration"],
        document=profile["document"],
        provider=profile["routing"]["provider"],
    )


def _globbed(resolved: Resolved, glob: str | None) -> frozenset[str] | None:
    return None if glob is None else frozenset(task_digests(resolved.tasks, glob))


def matches(name: str, glob: str) -> bool:
    """Whether a task's name, or its last part, fits a shell pattern."""
    return fnmatch(name, glob) or fnmatch(name.rsplit("/", 1)[-1], glob)


def task_digests(tasks: Sequence[Any], glob: str) -> list[str]:
    """Content digests of the tasks whose name fits a pattern. Raises ``NoTaskFits``."""
    return [task.content_digest for task in fitting(tasks, glob)]


def fitting(tasks: Sequence[_Named], glob: str) -> list[_Named]:
    """The tasks whose name fits a pattern. Raises ``NoTaskFits`` where there is none: a mistyped name is no wish."""
    found = [task for task in tasks if matches(task.name, glob)]
    if not found:
        near = difflib.get_close_matches(glob, [task.name.rsplit("/", 1)[-1] for task in tasks], n=1)
        raise NoTaskFits(f"No task's name fits {glob!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
    return found
