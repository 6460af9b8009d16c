"""The client over the platform in this process: what the CLI and scripts use.

with Client.open() as client:
    run = client.prepare("nightly.toml")
    session = client.start(run)
    session.start()
    print(client.leaderboard(session.result().name).rows)
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from proctor.app import Platform, open_platform
from proctor.engine import leaderboards, reading
from proctor.engine.breakers import Kind, Scope
from proctor.engine.choosing import CellChoice, position_of
from proctor.engine.errors import NoTaskFits, NothingToCompare, SecretMissing, SeriesUnknown
from proctor.engine.gates import judge_gate
from proctor.engine.numbers import Counts
from proctor.engine.planning import RunSetRow
from proctor.engine.resolving import resolve
from proctor.engine.segments import read_segments
from proctor.engine.service import OnMoved, Opened, Rehearsal, Selection
from proctor.engine.spec import Gate, RunSetSpec, read_spec
from proctor.engine.task_names import task_digests
from proctor.engine.trajectories import steps_so_far
from proctor.headroom import too_large_words
from proctor.kernel.paths import writing
from proctor.objects.store import StoredObject
from proctor.sandboxes.interfaces import Snapshot
from proctor.sdk.answers import Leaderboard, NotBlocked, Prepared, StateMissing
from proctor.sdk.cells import CellCalls
from proctor.sdk.comparing import ComparisonCalls
from proctor.sdk.data import DataCalls
from proctor.sdk.naming import at_once, list_of, placed
from proctor.sdk.requests import spec_of_tasks
from proctor.sdk.spending import Spendings
from proctor.sdk.suites import SuiteCalls
from proctor.sdk.trajectories import Trajectories
from proctor.sdk.usage import Usages
from proctor.settings import Settings, secret_values
from proctor.suites.service import Alias, names_of
from proctor.telemetry.process import begin_logs, telling
from proctor.telemetry.redaction import hide

if TYPE_CHECKING:
    from proctor.engine.pairs import Side
    from proctor.engine.regrading.grader import Regraded
    from proctor.sdk.agents import AgentLine
    from proctor.sdk.audits import AuditReport, AuditRequest
    from proctor.sdk.exports import ExportReport
    from proctor.sdk.imports import ImportReport
    from proctor.sdk.logs import LogPage, LogsWanted
    from proctor.sdk.previews import DryRun
    from proctor.sdk.providers import ProviderLine
    from proctor.sdk.reclassifications import Reclassification
    from proctor.sdk.regrades import RegradePlan, RegradeReport
    from proctor.sdk.requests import RunRequest
    from proctor.sdk.running import RunSession

__all__ = ["Client", "Leaderboard", "Prepared"]

T = TypeVar("T")


_SCOPES: tuple[str, ...] = (Kind.PROVIDER, Kind.REGISTRY, Kind.NODE)


class Client(SuiteCalls, DataCalls, CellCalls, ComparisonCalls):
    """One tenant's platform."""

    def __init__(self, platform: Platform) -> None:
        super().__init__(platform)
        self.usage = Usages(platform)
        self.spend = Spendings(platform)
        self.trajectories = Trajectories(platform)

    @classmethod
    @contextmanager
    def open(cls, settings: Settings | None = None) -> Iterator[Client]:
        """Connect; the embedded database starts if need be and stops with its last client."""
        settings = settings or Settings()
        begin_logs(settings, level="warning")
        with open_platform(settings) as platform, telling(settings, platform.objects, tenant=str(platform.tenant)):
            yield cls(platform)

    def _read(self, work: Callable[[Connection], T]) -> T:
        return self._platform.engine.read(work)

    # --- running ------------------------------------------------------------------------------------------------------

    def prepare(self, file: Path, *, concurrency: int | None = None, fresh: bool = False) -> Prepared:
        """Read and resolve a run-set file. Raises what is wrong with it, naming the file and the field."""
        spec, spec_digest = read_spec(file)
        with placed(lambda field: f"{file}: {field}"):
            return self._prepare(at_once(spec, concurrency), spec_digest, file.resolve().parent, fresh=fresh)

    def prepare_tasks(
        self, tasks: str, agents: Sequence[str], *, trials: int, concurrency: int | None = None, fresh: bool = False
    ) -> Prepared:
        """A run set without a file: agents that need no settings over a folder or suite."""
        spec, spec_digest = spec_of_tasks(tasks, agents, trials=trials)
        with placed(lambda field: "TASKS" if field == "suite" else "--agent"):
            return self._prepare(at_once(spec, concurrency), spec_digest, Path.cwd(), fresh=fresh)

    def _prepare(self, spec: RunSetSpec, spec_digest: str, base: Path, *, fresh: bool) -> Prepared:
        platform = self._platform
        backend = platform.backend(spec.execution.sandbox)
        secrets, missing = secret_values(spec.secrets.names)
        hide(secrets.values())
        resolved = resolve(
            spec,
            spec_digest,
            tenant=platform.tenant,
            base=base,
            suites=platform.suites,
            backend=backend,
            fresh=fresh,
            models=platform.known_models,
            agents=platform.agents,
        )
        return Prepared(spec=spec, resolved=resolved, backend=backend, secrets=secrets, missing_secrets=tuple(missing))

    def rehearse(self, prepared: Prepared, request: RunRequest) -> Rehearsal:
        """What opening the run set would do with the same words. Writes nothing but the imported suite."""
        return self._platform.engine.rehearse(
            prepared.resolved, on_moved=request.on_moved, fresh=request.fresh, selection=request.selection
        )

    def dry_run(self, prepared: Prepared, request: RunRequest) -> DryRun:
        """What starting the run set would take. Writes nothing but the imported suite."""
        from proctor.sdk.previews import dry_run

        return dry_run(self, prepared, request)

    def too_large(self, prepared: Prepared) -> list[str]:
        """Tasks that this machine could never give what their attempts are promised, with what they need."""
        node = self._platform.node(prepared.backend)
        ever = node.ever() if node is not None else None
        if ever is None:
            return []
        needs = {task.content_digest: task.need for task in prepared.resolved.plan.tasks}
        told = {task.name: too_large_words(needs[task.content_digest], ever) for task in prepared.resolved.tasks}
        return [f"{name} {words}" for name, words in told.items() if words]

    def reasons_before(self, prepared: Prepared) -> list[str]:
        """What will make every row of a run set not comparable: its overrides, and tasks without a certificate."""
        return self._platform.engine.reasons_before(prepared.resolved)

    def open_run_set(
        self,
        prepared: Prepared,
        *,
        on_moved: OnMoved = OnMoved.ASK,
        fresh: bool = False,
        selection: Selection | None = None,
    ) -> Opened:
        """Find or make the run set of a file and queue what it owes. Raises ``SecretMissing``, ``RunSetMoved``."""
        if prepared.missing_secrets:
            raise SecretMissing(f"{', '.join(prepared.missing_secrets)} is not set.", where="secrets.names")
        return self._platform.engine.open(
            prepared.resolved, on_moved=on_moved, fresh=fresh, selection=selection or Selection()
        )

    def session(self, prepared: Prepared, opened: Opened) -> RunSession:
        """A worker in this process for a run set; one with nothing to do where no cell is queued or runs anywhere."""
        from proctor.sdk.running import RunSession

        idle = opened.queued == 0 and not self._platform.engine.work_left(opened.run_set.id)()
        return RunSession(
            self._platform, opened.run_set, prepared.spec, prepared.backend, prepared.secrets, nothing_to_do=idle
        )

    def resume(self, reference: str | None, choice: CellChoice | None = None) -> tuple[RunSession, int]:
        """Queue a run set's owed cells again, dead letters too, with a worker in this process; ``choice``: only these.

        Raises ``RunSetStopped``, ``CellUnknown``, ``NoTaskFits`` and ``SpecInvalid`` where there is a choice.
        """
        from proctor.sdk.running import RunSession

        row = self.find(reference)
        spec = self._platform.engine.stored_spec(row.id)
        secrets = _from_environment(spec)
        queued = self._platform.engine.resume(row.id, choice)
        backend = self._platform.backend(spec.execution.sandbox)
        return RunSession(self._platform, self.find(str(row.id)), spec, backend, secrets), queued

    def how_to_go_on(self, row: RunSetRow) -> str:
        """What to say to whoever interrupts a run."""
        newest = self.find(row.name).id == row.id
        return f"To go on: {shlex.join(['proctor', 'resume', row.name if newest else str(row.id)])}"

    def pause(self, reference: str | None) -> RunSetRow:
        """Take a run set out of service; running cells finish."""
        row = self.find(reference)
        self._platform.engine.pause(row.id)
        return self.find(str(row.id))

    def cancel(self, reference: str | None) -> RunSetRow:
        """End a run set and what runs of it; its cells stay owed."""
        row = self.find(reference)
        self._platform.engine.cancel(row.id)
        return self.find(str(row.id))

    def unblock(self, scope: str, name: str) -> None:
        """Open what a breaker closed, or somebody paused. Raises ``NotBlocked``."""
        if scope not in _SCOPES or not self._platform.engine.unblock(Scope(kind=Kind(scope), name=name)):
            raise NotBlocked(f"No {scope} {name!r} is blocked.")

    # --- reading ------------------------------------------------------------------------------------------------------

    def run_sets(
        self,
        *,
        state: str | None = None,
        name: str | None = None,
        suite: str | None = None,
        words: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[RunSetRow]:
        """The newest run sets first, of a state, a name, a suite's id; ``before``: only those made before that one.

        ``words``: that stand in the name, whatever the case of a to z.
        """
        tenant, wanted = self._platform.tenant, {"state": state, "name": name, "suite": suite, "words": words}
        return self._read(lambda c: reading.run_sets(c, tenant, **wanted, before=before, limit=limit))

    def find(self, reference: str | None) -> RunSetRow:
        """A run set by name or id, the newest without either."""
        tenant = self._platform.tenant
        return self._read(lambda connection: reading.find_run_set(connection, tenant, reference))

    def status(self, reference: str | None) -> reading.RunSetStatus:
        """A run set's progress and what its cells wait for."""
        tenant = self._platform.tenant
        return self._read(lambda c: reading.status(c, tenant, reading.find_run_set(c, tenant, reference)))

    def leaderboard(
        self, reference: str | None, *, gate: Gate | None = None, must_compare: bool = False
    ) -> Leaderboard:
        """A run set's leaderboard with everything it takes to believe it. ``gate``: other than its file's.

        ``must_compare``: raises ``NothingToCompare`` where else the gate's ``against`` would be open.
        """
        from proctor.sdk.comparisons import against

        tenant, engine, row = self._platform.tenant, self._platform.engine, self.find(reference)
        rows = self._read(lambda c: leaderboards.leaderboard(c, tenant, row, engine.reasons(c, row)))
        counts = sum((one.rates.counts for one in rows), Counts(expected=0, decided=0, passed=0))
        progress = self._read(lambda c: reading.progress(c, tenant, row, counts))
        reused, oldest = self._read(lambda c: reading.reused(c, tenant, row))
        gate = gate or engine.stored_spec(row.id).gate
        partner = against(self._platform, row, gate)
        if must_compare and partner is not None and partner.problem:
            raise NothingToCompare(f"{partner.problem[0].upper()}{partner.problem[1:]}.", where=gate.against)
        return Leaderboard(
            run_set=row,
            rows=tuple(rows),
            rates=leaderboards.together(rows),
            progress=progress,
            reused=reused,
            oldest_reused=oldest,
            task_names=self.task_names(row.suite_id),
            gate=judge_gate(gate, rows, partner),
        )

    def task_names(self, suite_id: str) -> dict[str, str]:
        """Task names by content digest."""
        tenant = self._platform.tenant
        return {one.content_digest: one.name for one in self._read(lambda c: names_of(c, tenant, suite_id))}

    def cells(
        self,
        reference: str | None,
        *,
        outcome: str | None = None,
        profile: str | None = None,
        task: str | None = None,
        after: tuple[int, str, int, UUID] | None = None,
        limit: int = 200,
    ) -> tuple[RunSetRow, reading.CellPage, Mapping[int, str], Mapping[str, str]]:
        """A page of cells with the names of the profiles (by position) and of its tasks (by digest)."""
        tenant = self._platform.tenant

        def work(c: Connection) -> tuple[RunSetRow, reading.CellPage, Mapping[int, str], Mapping[str, str]]:
            row = reading.find_run_set(c, tenant, reference)
            profiles = reading.profile_names(c, tenant, row.id)
            page = reading.cells(
                c,
                tenant,
                row,
                outcome_class=outcome,
                profile=position_of(profiles, profile),
                tasks=_digests(names_of(c, tenant, row.suite_id), task) if task else None,
                after=after,
                limit=limit,
            )
            names = names_of(c, tenant, row.suite_id, {cell.content_digest for cell in page.cells})
            return row, page, profiles, {one.content_digest: one.name for one in names}

        return self._read(work)

    def running(self, row: RunSetRow, *, limit: int = 50) -> list[Mapping[str, Any]]:
        """Attempts of a run set that run now, the longest-running first."""
        tenant = self._platform.tenant
        return self._read(lambda connection: reading.running(connection, tenant, row, limit=limit))

    def stalled(self, row: RunSetRow, *, limit: int = 50) -> list[reading.Stall]:
        """Attempts of a run set that run and have made no progress for the time that the settings say."""
        tenant, quiet = self._platform.tenant, self._platform.settings.quiet_sec
        return self._read(lambda connection: reading.stalled(connection, tenant, row, quiet_sec=quiet, limit=limit))

    def attempt(self, reference: str) -> reading.AttemptDetail:
        """An attempt by the beginning of its id, or a cell's last one."""
        tenant = self._platform.tenant
        return self._read(lambda c: reading.attempt_detail(c, tenant, reading.find_attempt(c, tenant, reference)))

    def artifact(self, detail: reading.AttemptDetail, artifact: Mapping[str, Any]) -> bytes:
        """An attempt's artifact, as its detail names it. Raises ``ObjectMissing``, ``ObjectDamaged``."""
        return self._platform.objects.read(_stored(artifact))

    def save_artifact(self, detail: reading.AttemptDetail, artifact: Mapping[str, Any], path: Path) -> None:
        """Write an attempt's artifact to a new file. Raises ``ObjectMissing``, ``ObjectDamaged``, ``PathUnusable``."""
        with writing(path):
            self._platform.objects.fetch(_stored(artifact), path)

    def final_state(self, reference: str, path: Path) -> Snapshot:
        """What an attempt left, as a tar in a new file. Raises ``StateMissing``, ``ObjectDamaged``."""
        detail = self.attempt(reference)
        for artifact in detail.attempt["artifacts"]:
            if artifact["name"] == "state.tar":
                self.save_artifact(detail, artifact, path)
                return Snapshot(path=path, sha256=artifact["sha256"], size=artifact["size"])
        raise StateMissing(where=str(detail.attempt["id"]))

    def log_segments(self, attempt: UUID, *, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Log segments of an attempt numbered above ``after``, as far as there are any."""
        return read_segments(self._platform.objects, self._platform.tenant, attempt, after=after)

    def steps(self, detail: reading.AttemptDetail, *, after: int = 0) -> Iterator[Mapping[str, Any]]:
        """The steps of an attempt's trajectory (ATIF) numbered above ``after``, as far as it has come."""
        found = next((one for one in detail.attempt["artifacts"] if one["name"] == "trajectory.json"), None)
        whole = None if found is None else self.artifact(detail, found)
        platform = self._platform
        return steps_so_far(platform.objects, platform.tenant, detail.attempt["id"], whole, after=after)

    def logs(self, wanted: LogsWanted, *, cursor: str | None = None, limit: int = 100) -> LogPage:
        """A page of log lines, the newest first. Raises ``RunSetUnknown``, ``AttemptUnknown``, ``UserUnknown``."""
        from proctor.sdk.logs import find_logs

        return find_logs(self._platform, wanted, cursor=cursor, limit=limit)

    def history(self, series: str) -> list[Mapping[str, Any]]:
        """Every leaderboard revision of a series, oldest first. Raises ``SeriesUnknown`` naming those there are."""
        tenant = self._platform.tenant
        rows = self._read(lambda connection: reading.history(connection, tenant, series))
        known = [] if rows else self._read(lambda connection: reading.series_names(connection, tenant))
        if not rows and series not in known:
            raise SeriesUnknown(f"There is no series {series!r}; {list_of(known, series)}.")
        return rows

    def profiles(self, reference: str | None) -> list[Mapping[str, Any]]:
        """A run set's profiles with their configuration documents."""
        tenant = self._platform.tenant
        return self._read(lambda c: reading.profiles_of(c, tenant, reading.find_run_set(c, tenant, reference).id))

    def mean_seconds(self, configurations: Sequence[str]) -> float | None:
        """How long an attempt of these configurations took on average, over a sample; ``None`` before the first."""
        tenant = self._platform.tenant
        return self._read(lambda connection: reading.mean_seconds(connection, tenant, configurations))

    def agents(self) -> list[AgentLine]:
        """The agents there are, and whether their programs are on this machine."""
        from proctor.sdk.installed import Installed

        return Installed(self._platform.settings).agents()

    def providers(self) -> list[ProviderLine]:
        """The providers that are known, and which of their keys this environment has. Raises ``ProvidersInvalid``."""
        from proctor.sdk.installed import Installed

        return Installed(self._platform.settings).providers()

    def gate(self, reference: str | None) -> Gate:
        """The gate of a run set's file, as it was planned."""
        return self._platform.engine.stored_spec(self.find(reference).id).gate

    def check_reference(self, text: str) -> None:
        """Raises ``LabelUnknown``, ``RunSetUnknown`` or ``ReferenceInvalid`` where a reference leads nowhere."""
        from proctor.sdk.comparisons import find

        find(self._platform, text)

    def sides(self, reference: str | None) -> list[Side]:
        """A run set's profiles with the cells of each task by class."""
        from proctor.sdk.comparisons import sides_of

        return sides_of(self._platform, self.find(reference))

    def label(self, reference: str, name: str) -> RunSetRow:
        """Let a label stand for a run set from now on."""
        from proctor.sdk.comparisons import label_run_set

        row = self.find(reference)
        label_run_set(self._platform, row, name)
        return row

    def labels(self) -> list[Alias]:
        """Every label of a run set with its history."""
        from proctor.sdk.comparisons import run_set_labels

        return run_set_labels(self._platform)

    # --- gradings ---------------------------------------------------------------------------------------------------

    def plan_regrade(
        self, reference: str | None, *, suite: str | None = None, task: str | None = None, recheck: bool = False
    ) -> RegradePlan:
        """Which attempts of a run set can be graded again, by the changed verifiers of a suite or by the same ones."""
        from proctor.sdk.regrades import plan_regrade

        return plan_regrade(self._platform, self.find(reference), suite=suite, task=task, recheck=recheck)

    def regrade(
        self, plan: RegradePlan, *, concurrency: int = 2, on_done: Callable[[Regraded | None], None] = lambda _: None
    ) -> RegradeReport:
        """Grade them. Agents are not run, and verdicts that are there already stay as they are."""
        from proctor.sdk.regrades import run_regrade

        secrets = _from_environment(self._platform.engine.stored_spec(plan.run_set.id))
        return run_regrade(self._platform, plan, secrets, concurrency=concurrency, on_done=on_done)

    def reclassify(
        self, reference: str | None, policy: Path, *, on_page: Callable[[int], None] = lambda _: None
    ) -> Reclassification:
        """What another outcome policy makes of a run set's evidence. Raises ``PolicyInvalid`` naming the place."""
        from proctor.sdk.reclassifications import read_policy_file, reclassify

        source = read_policy_file(policy)
        return reclassify(self._platform, self.find(reference), source, where=str(policy), on_page=on_page)

    def move_pin(self, done: Reclassification) -> int:
        """Let the run set count by that policy from now on; returns how many of its cells are owed now."""
        from proctor.sdk.reclassifications import move_pin

        return move_pin(self._platform, done)

    def audit(self, request: AuditRequest) -> AuditReport:
        """Reconcile what is stored with what was expected, and repair it where the request says so."""
        from proctor.sdk.audits import audit

        return audit(self._platform, request)

    def import_results(self, folder: Path, *, on_page: Callable[[int], None] = lambda _: None) -> ImportReport:
        """Import results that others made. Raises ``ImportInvalid`` naming file, line and field."""
        from proctor.sdk.imports import import_results

        return import_results(self._platform, folder, on_page=on_page)

    def export(
        self, reference: str | None, folder: Path, *, on_page: Callable[[int], None] = lambda _: None
    ) -> ExportReport:
        """Write a run set as a job directory of Harbor's to a new folder. Raises ``FolderTaken``, ``PathUnusable``."""
        from proctor.sdk.exports import export_run_set

        return export_run_set(self._platform, self.find(reference), folder, on_page=on_page)


def _digests(tasks: Sequence[Any], glob: str) -> list[str]:
    """Raises ``NoTaskFits``."""
    try:
        return task_digests(tasks, glob)
    except NoTaskFits as error:
        error.where = "task"
        raise


def _from_environment(spec: RunSetSpec) -> Mapping[str, str]:
    """The secrets of a run set that is worked on here. Raises ``SecretMissing``."""
    secrets, missing = secret_values(spec.secrets.names)
    if missing:
        raise SecretMissing(f"{', '.join(missing)} is not set.", where="secrets.names")
    return secrets


def _stored(artifact: Mapping[str, Any]) -> StoredObject:
    return StoredObject(key=artifact["key"], sha256=artifact["sha256"], size=artifact["size"])
