"""A tenant's platform on a server: what ``proctor.sdk.client.Client`` answers, answered by it.

with RemoteClient.open("https://proctor.example.org", key) as client:
    for row in client.leaderboard("nightly").rows:
        print(row.profile, row.rates.strict)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote
from uuid import UUID

from proctor.engine.certificates.standing import Standing
from proctor.engine.choosing import CellChoice
from proctor.engine.imports.records import read_manifest
from proctor.engine.pairs import Side, TaskCells, TaskKey
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import AttemptDetail, CellPage, CellRow, RunSetStatus, Stall
from proctor.engine.service import OnMoved, Selection
from proctor.engine.spec import Gate, RunSetSpec, read_spec, spec_document
from proctor.engine.suite_boards import SuiteBoard
from proctor.kernel.paths import writing
from proctor.sandboxes.interfaces import Snapshot
from proctor.sdk.agents import AgentLine
from proctor.sdk.answers import Leaderboard, StateMissing
from proctor.sdk.checking import CheckRequest
from proctor.sdk.cursors import Listing
from proctor.sdk.logs import LogPage, LogsWanted
from proctor.sdk.previews import DryRun
from proctor.sdk.providers import ProviderLine
from proctor.sdk.remote.answers import NEWEST, part, read, run_set_path
from proctor.sdk.remote.cells import RemoteCells
from proctor.sdk.remote.checks import RemoteCheck
from proctor.sdk.remote.comparing import RemoteComparisons
from proctor.sdk.remote.data import RemoteData
from proctor.sdk.remote.errors import NotOnServer, ServerRefused
from proctor.sdk.remote.events import EventsLost, LiveEvent, follow
from proctor.sdk.remote.runs import (
    MalformedTask,
    RemotePrepared,
    RemoteSession,
    scripts_of,
    upload_dataset,
    upload_suite,
)
from proctor.sdk.remote.spending import RemoteSpendings
from proctor.sdk.remote.trajectories import RemoteTrajectories
from proctor.sdk.remote.transport import API, Transport
from proctor.sdk.remote.usage import RemoteUsages
from proctor.sdk.remote.work import RemoteRegradePlan
from proctor.sdk.requests import RunRequest, spec_of_tasks
from proctor.sdk.submissions import Submitted
from proctor.suites.loading import tasks_further_down
from proctor.suites.service import Alias, SuiteDetail, SuiteRow

if TYPE_CHECKING:
    from httpx2 import Client as Http

    from proctor.sdk.audits import AuditReport, AuditRequest
    from proctor.sdk.exports import ExportReport
    from proctor.sdk.imports import ImportReport
    from proctor.sdk.reclassifications import Reclassification
    from proctor.sdk.regrades import RegradeReport
    from proctor.suites.datasets import ResolvedDataset

__all__ = ["RemoteClient"]


class RemoteClient(RemoteData, RemoteCells, RemoteComparisons):
    """One tenant's platform on a server."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.usage = RemoteUsages(transport)
        self.spend = RemoteSpendings(transport)
        self.trajectories = RemoteTrajectories(transport)

    @classmethod
    @contextmanager
    def open(cls, server: str, key: str, *, http: Http | None = None) -> Iterator[RemoteClient]:
        """Connections are made as they are needed."""
        transport = Transport(server, key, http=http)
        try:
            yield cls(transport)
        finally:
            transport.close()

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
        """The newest run sets first; ``before``: only those made before that one; ``words``: that stand in the name."""
        wanted = {"state": state, "name": name, "suite": suite, "words": words}
        cursor = None if before is None else Listing(f"{API}/run-sets", tuple(wanted.items())).cursor([before])
        found = self.transport.get("run-sets", **wanted, cursor=cursor, limit=limit)
        return read(list[RunSetRow], found["items"])

    def find(self, reference: str | None) -> RunSetRow:
        """A run set by name or id, the newest without either."""
        return self.status(reference).run_set

    def status(self, reference: str | None) -> RunSetStatus:
        """A run set's progress and what its cells wait for."""
        return read(RunSetStatus, self.transport.get(run_set_path(reference)))

    def leaderboard(
        self, reference: str | None, *, gate: Gate | None = None, must_compare: bool = False
    ) -> Leaderboard:
        """A run set's leaderboard, judged by its own gate or another."""
        path = f"{run_set_path(reference)}/leaderboard"
        if gate is None and not must_compare:
            return read(Leaderboard, self.transport.get(path))
        body = {"gate": None if gate is None else gate.model_dump(mode="json"), "must_compare": must_compare}
        return read(Leaderboard, self.transport.post(path, body))

    def task_names(self, suite_id: str) -> dict[str, str]:
        """Task names by content digest."""
        return {task.content_digest: task.name for task in self.suite(suite_id).tasks}

    def cells(
        self,
        reference: str | None,
        *,
        outcome: str | None = None,
        profile: str | None = None,
        task: str | None = None,
        after: tuple[int, str, int, UUID] | None = None,
        limit: int = 200,
    ) -> tuple[RunSetRow, CellPage, Mapping[int, str], Mapping[str, str]]:
        """A page of cells with the names of the profiles (by position) and of its tasks (by digest)."""
        asked = {"outcome": outcome, "profile": profile, "task": task}
        cells: list[CellRow] = []
        names: dict[str, str] = {}
        listing = Listing(f"{API}/run-sets/{reference or NEWEST}/cells", tuple(asked.items()))
        cursor = None if after is None else listing.cursor(after)
        while True:
            size = min(_LARGEST_PAGE, limit - len(cells))
            found = self.transport.get(f"{run_set_path(reference)}/cells", **asked, limit=size, cursor=cursor)
            cells.extend(read(list[CellRow], found["items"]))
            names.update(read(dict[str, str], found["tasks"]))
            cursor = found["next"]
            if cursor is None or len(cells) >= limit:
                break
        last = (
            None if cursor is None else (cells[-1].profile, cells[-1].content_digest, cells[-1].trial, cells[-1].cell)
        )
        page, row = CellPage(cells=tuple(cells), cursor=last), read(RunSetRow, found["run_set"])
        return row, page, read(dict[int, str], found["profiles"]), names

    def running(self, row: RunSetRow, *, limit: int = 50) -> list[Mapping[str, Any]]:
        """Attempts of a run set that run now, the longest-running first."""
        return _rows(self._some(f"{run_set_path(str(row.id))}/running", limit))

    def stalled(self, row: RunSetRow, *, limit: int = 50) -> list[Stall]:
        """Attempts of a run set that run and have made no progress for the time that the server's settings say."""
        return read(list[Stall], self._some(f"{run_set_path(str(row.id))}/stalled", limit))

    def _some(self, path: str, limit: int) -> list[Any]:
        """At most so many of a list."""
        return list(islice(self.transport.pages(path, limit=min(limit, _LARGEST_PAGE)), limit))

    def attempt(self, reference: str) -> AttemptDetail:
        """An attempt by the beginning of its id, or a cell's last one."""
        found = self.transport.get(f"attempts/{part(reference)}")
        return AttemptDetail(
            attempt=_dated(found["attempt"]),
            evidence=tuple(_rows(found["evidence"])),
            gradings=tuple(_rows(found["gradings"])),
            outcomes=tuple(_rows(found["outcomes"])),
        )

    def artifact(self, attempt: AttemptDetail, artifact: Mapping[str, Any]) -> bytes:
        """An attempt's artifact."""
        with self._artifact(attempt, artifact) as response:
            return b"".join(response.iter_bytes())

    def final_state(self, reference: str, path: Path) -> Snapshot:
        """What an attempt left, as a tar in a new file. Raises ``StateMissing``."""
        detail = self.attempt(reference)
        for artifact in detail.attempt["artifacts"]:
            if artifact["name"] == "state.tar":
                self.save_artifact(detail, artifact, path)
                return Snapshot(path=path, sha256=artifact["sha256"], size=artifact["size"])
        raise StateMissing(where=str(detail.attempt["id"]))

    def save_artifact(self, attempt: AttemptDetail, artifact: Mapping[str, Any], path: Path) -> None:
        """Write an attempt's artifact to a new file. Raises ``PathUnusable``."""
        with writing(path), path.open("xb") as file, self._artifact(attempt, artifact) as response:
            for piece in response.iter_bytes():
                file.write(piece)

    def _artifact(self, attempt: AttemptDetail, artifact: Mapping[str, Any]) -> Any:
        return self.transport.stream(f"attempts/{attempt.attempt['id']}/artifacts/{quote(artifact['name'])}")

    def log_segments(self, attempt: UUID, *, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """What an attempt printed after the segment numbered so, as one piece with the number of its last."""
        with self.transport.stream(f"attempts/{attempt}/log", after=after) as response:
            text = b"".join(response.iter_bytes())
            last = int(response.headers["X-Last-Segment"])
        if text:
            yield last, text

    def steps(self, detail: AttemptDetail, *, after: int = 0) -> Iterator[Mapping[str, Any]]:
        """The steps of an attempt's trajectory (ATIF) numbered above ``after``, as far as it has come."""
        with self.transport.stream(f"attempts/{detail.attempt['id']}/trajectory", after=after) as response:
            document = b"".join(response.iter_bytes())
        yield from (json.loads(line) for line in document.splitlines())

    def logs(self, wanted: LogsWanted, *, cursor: str | None = None, limit: int = 100) -> LogPage:
        """A page of log lines, the newest first."""
        asked = {name: value for name, value in vars(wanted).items() if value is not None}
        times = {name: value.isoformat() for name, value in asked.items() if isinstance(value, datetime)}
        return read(LogPage, self.transport.get("logs", **{**asked, **times}, cursor=cursor, limit=limit))

    def history(self, series: str) -> list[Mapping[str, Any]]:
        """Every leaderboard revision of a series, oldest first."""
        return _rows(self.transport.pages(f"series/{part(series)}/history"))

    def profiles(self, reference: str | None) -> list[Mapping[str, Any]]:
        """A run set's profiles with their configuration documents."""
        return _rows(self.transport.pages(f"{run_set_path(reference)}/profiles"))

    def gate(self, reference: str | None) -> Gate:
        """The gate of a run set's file, as it was planned."""
        return Gate.model_validate(self.transport.get(f"{run_set_path(reference)}/gate"))

    def sides(self, reference: str | None) -> list[Side]:
        """A run set's profiles with the cells of each task by class."""
        found = self.transport.pages(f"{run_set_path(reference)}/sides")
        return [Side(**{**one, "run_set": UUID(one["run_set"]), "tasks": _tasks(one["tasks"])}) for one in found]

    def check_reference(self, text: str) -> None:
        """Raises what the server says where a reference leads nowhere."""
        self.transport.get("references", reference=text)

    def standings(self, suite_id: str) -> dict[str, Standing]:
        """What certificates say of a suite's tasks on the server's machine, by content digest."""
        found = read(list[Standing], list(self.transport.pages(f"suites/{suite_id}/certificates", limit=_LARGEST_PAGE)))
        return {one.content_digest: one for one in found}

    def agents(self) -> list[AgentLine]:
        """The agents there are, and whether their programs are on the server's machine."""
        return read(list[AgentLine], list(self.transport.pages("agents")))

    def providers(self) -> list[ProviderLine]:
        """The providers that the server knows, and which of their keys the tenant has set."""
        return read(list[ProviderLine], list(self.transport.pages("providers")))

    def events(
        self, *, topics: Sequence[str] = (), after: str | None = None, wait: float | None = None
    ) -> Iterator[LiveEvent | EventsLost]:
        """What happens, from an event's id on or from now on, as long as one reads; ``wait=0``: what is kept.

        A topic is ``run-set:ID`` or ``job:ID``; without any, it is all that happens to run sets, attempts and jobs.
        """
        return follow(self.transport, topics, after, wait=wait)

    # --- changing -----------------------------------------------------------------------------------------------------

    def pause(self, reference: str | None) -> RunSetRow:
        """Take a run set out of service; running cells finish."""
        return read(RunSetRow, self.transport.post(f"{run_set_path(reference)}/pause"))

    def cancel(self, reference: str | None) -> RunSetRow:
        """End a run set and what runs of it; its cells stay owed."""
        return read(RunSetRow, self.transport.post(f"{run_set_path(reference)}/cancel"))

    def unblock(self, scope: str, name: str) -> None:
        """Open what a breaker closed, or somebody paused."""
        self.transport.delete(f"blocks/{part(scope)}/{quote(name)}")

    def label(self, reference: str, name: str) -> RunSetRow:
        """Let a label stand for a run set from now on."""
        return read(RunSetRow, self.transport.put(f"labels/run-sets/{part(name)}", {"run_set": reference}))

    def labels(self) -> list[Alias]:
        """Every label of a run set with its history."""
        return read(list[Alias], list(self.transport.pages("labels/run-sets")))

    # --- running ------------------------------------------------------------------------------------------------------

    def prepare(self, file: Path, *, concurrency: int | None = None, fresh: bool = False) -> RemotePrepared:
        """Read a run-set file and have its suite on the server. ``concurrency`` is the workers' own business."""
        spec, spec_digest = read_spec(file)
        return self._prepared(spec, spec_digest, file.resolve().parent)

    def prepare_tasks(
        self, tasks: str, agents: Sequence[str], *, trials: int, concurrency: int | None = None, fresh: bool = False
    ) -> RemotePrepared:
        """A run set without a file: agents that need no settings over a folder or suite."""
        spec, spec_digest = spec_of_tasks(tasks, agents, trials=trials)
        return self._prepared(spec, spec_digest, Path.cwd())

    def _prepared(self, spec: RunSetSpec, spec_digest: str, base: Path) -> RemotePrepared:
        scripts = scripts_of(spec, base)
        folder = (base / spec.suite).expanduser()
        suite = upload_suite(self, folder) if folder.is_dir() else spec.suite
        document = {**spec_document(spec), "suite": suite}
        return RemotePrepared(spec=spec, spec_digest=spec_digest, document=document, scripts=scripts)

    def dry_run(self, prepared: RemotePrepared, request: RunRequest) -> DryRun:
        """What starting it would take on the server."""
        body = _submission(prepared, request.on_moved, request.selection, fresh=request.fresh)
        return read(DryRun, self.transport.post("run-sets/rehearsal", body))

    def open_run_set(
        self,
        prepared: RemotePrepared,
        *,
        on_moved: OnMoved = OnMoved.ASK,
        fresh: bool = False,
        selection: Selection | None = None,
    ) -> Submitted:
        """Find or make the run set of a file and queue what it owes."""
        body = _submission(prepared, on_moved, selection or Selection(), fresh=fresh)
        done = read(Submitted, self.transport.post("run-sets", body))
        told = [line.partition(": ") for line in done.malformed]
        prepared.resolved.malformed = tuple(MalformedTask(name=name, problems=(why,)) for name, _, why in told)
        prepared.resolved.remarks = done.remarks
        return done

    def session(self, prepared: RemotePrepared, opened: Submitted) -> RemoteSession:
        """The run set, watched; with nothing to do where nothing of it is queued or runs anywhere."""
        idle = opened.queued == 0 and self.status(str(opened.run_set.id)).progress.live == 0
        return RemoteSession(self, opened.run_set, nothing_to_do=idle)

    def resume(self, reference: str | None, choice: CellChoice | None = None) -> tuple[RemoteSession, int]:
        """Queue a run set's owed cells again, dead letters too; ``choice``: only these."""
        said = None if choice is None else {name: value for name, value in vars(choice).items() if value}
        done = self.transport.post(f"{run_set_path(reference)}/resume", said)
        return RemoteSession(self, read(RunSetRow, done["run_set"]), nothing_to_do=False), int(done["queued"])

    def how_to_go_on(self, row: RunSetRow) -> str:
        """What to say to whoever looks away."""
        return f"The server goes on with it. To look: proctor status {row.name}; to stop it: proctor pause {row.name}"

    # --- gradings ---------------------------------------------------------------------------------------------------

    def plan_regrade(
        self, reference: str | None, *, suite: str | None = None, task: str | None = None, recheck: bool = False
    ) -> RemoteRegradePlan:
        """Which attempts of a run set can be graded again; a folder of changed verifiers is sent."""
        sent = suite
        if suite is not None and Path(suite).expanduser().is_dir():
            sent = upload_suite(self, Path(suite).expanduser())
        try:
            return self.work.plan_regrade(reference, {"suite": sent, "task": task, "recheck": recheck})
        except ServerRefused as error:
            error.where = suite if error.where == sent else error.where
            raise

    def regrade(
        self, plan: RemoteRegradePlan, *, concurrency: int = 2, on_done: Callable[[None], None] = lambda _: None
    ) -> RegradeReport:
        """Have them graded, where they ran."""
        return self.work.regrade(plan, concurrency=concurrency, on_done=on_done)

    def reclassify(
        self, reference: str | None, policy: Path, *, on_page: Callable[[int], None] = lambda _: None
    ) -> Reclassification:
        """What another outcome policy makes of a run set's evidence."""
        return self.work.reclassify(reference, policy, on_page=on_page)

    def move_pin(self, done: Reclassification) -> int:
        """Let the run set count by that policy from now on; returns how many of its cells are owed now."""
        return self.work.move_pin(done)

    def audit(self, request: AuditRequest) -> AuditReport:
        """Have what the server stores reconciled with what was expected."""
        return self.work.audit(request, lambda: [one["name"] for one in self.profiles(request.run_set)])

    def import_results(self, folder: Path, *, on_page: Callable[[int], None] = lambda _: None) -> ImportReport:
        """Send results that others made; a folder of tasks that they name is sent first."""
        manifest, _ = read_manifest(folder)
        named = (folder / manifest.suite).expanduser()
        suite = upload_suite(self, named) if named.is_dir() else None
        return self.work.import_results(folder, suite=suite, on_page=on_page)

    def export(
        self, reference: str | None, folder: Path, *, on_page: Callable[[int], None] = lambda _: None
    ) -> ExportReport:
        """Write a run set as a job directory of Harbor's to a new folder here."""
        return self.work.export(reference, folder, on_page=on_page)

    # --- suites -------------------------------------------------------------------------------------------------------

    def suites(self) -> list[SuiteRow]:
        """Every suite."""
        return read(list[SuiteRow], list(self.transport.pages("suites")))

    def import_suite(self, path: Path, *, label: str | None) -> tuple[str, SuiteDetail]:
        """Send a folder of tasks, with a label if one is given; its id and what is in it."""
        suite_id = upload_suite(self, path, label=label)
        return suite_id, self.suite(suite_id)

    def tasks_further_down(self, path: Path) -> str:
        """What to tell of folders below a suite's that hold tasks and are not read; empty where there is none."""
        return tasks_further_down(path)

    def import_dataset(self, dataset: ResolvedDataset, *, label: str | None) -> tuple[str, SuiteDetail]:
        """Send a dataset's tasks, with a label if one is given; its suite's id and what is in it."""
        suite_id = upload_dataset(self, dataset, label=label)
        return suite_id, self.suite(suite_id)

    def check(self, reference: str, request: CheckRequest) -> RemoteCheck:
        """A check of a suite's tasks, or of a folder's, which is sent, on the server's machine; not begun."""
        folder = Path(reference).expanduser()
        suite = self.suite(upload_suite(self, folder) if folder.is_dir() else reference)
        return RemoteCheck(self.work, suite, request)

    def knows_suite(self, suite_id: str) -> bool:
        """Whether a suite is there."""
        try:
            self.suite(suite_id)
        except ServerRefused as error:
            if error.code != "suite-unknown":
                raise
            return False
        return True

    def send_suite(self, tar: IO[bytes], *, label: str | None, source: str) -> None:
        """Import a suite that is sent as a tar. Sent again it changes nothing."""
        params = {"label": label, "source": source}
        self.transport.send("POST", "suites", params=params, content=tar, headers={"Content-Type": "application/x-tar"})

    def suite(self, reference: str) -> SuiteDetail:
        """A suite by id, beginning of one, or label."""
        return read(SuiteDetail, self.transport.get(f"suites/{part(reference)}"))

    def suite_board(self, reference: str) -> SuiteBoard:
        """A suite's leaderboard: the newest row of each configuration."""
        return read(SuiteBoard, self.transport.get(f"suites/{part(reference)}/leaderboard"))

    def set_alias(self, label: str, reference: str) -> None:
        """Let a label stand for a suite from now on."""
        self.transport.put(f"labels/suites/{part(label)}", {"suite": reference})

    def aliases(self) -> list[Alias]:
        """Every label with its history."""
        return read(list[Alias], list(self.transport.pages("labels/suites")))

    def __getattr__(self, name: str) -> NoReturn:
        """What only this machine's own platform can do. Raises ``NotOnServer``."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotOnServer(where=f"{name} ({self.transport.server})")


_LARGEST_PAGE = 1000


def _submission(prepared: RemotePrepared, on_moved: OnMoved, chosen: Selection, *, fresh: bool) -> Mapping[str, object]:
    return {
        "spec": prepared.document,
        "spec_digest": prepared.spec_digest,
        "scripts": prepared.scripts,
        "fresh": fresh,
        "go_on": on_moved is OnMoved.CONTINUE,
        "new": on_moved is OnMoved.NEW,
        "only_owed": chosen.only_owed,
        "limit": chosen.limit,
        "task": chosen.task_glob,
    }


def _tasks(pairs: Any) -> dict[TaskKey, TaskCells]:
    return dict(read(list[tuple[TaskKey, TaskCells]], pairs))


def _rows(value: Any) -> list[Mapping[str, Any]]:
    """Rows as they are stored, their times as times."""
    return [_dated(row) for row in value]


def _dated(row: Mapping[str, Any]) -> dict[str, Any]:
    """By the rule that a column of a time ends with ``_at``."""
    return {
        name: datetime.fromisoformat(value) if name.endswith("_at") and isinstance(value, str) else value
        for name, value in row.items()
    }
