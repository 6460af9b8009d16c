"""A tenant's platform on a server: what ``proctor.sdk.client.Client`` answers, answered by it.

with RemoteClient.open("https://proctor.example.org", key) as client:
    for row in client.leaderboard("nightly").rows:
        print(row.profile, row.rates.strict)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import TypeAdapter

from proctor.engine.pairs import Comparison, Side, TaskCells, TaskKey
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import AttemptDetail, CellPage, CellRow, RunSetStatus, Stall
from proctor.engine.service import OnMoved, Selection
from proctor.engine.spec import Gate, RunSetSpec, read_spec, spec_document
from proctor.kernel.paths import writing
from proctor.sdk.client import Leaderboard
from proctor.sdk.remote.errors import NotOnServer, ServerRefused
from proctor.sdk.remote.events import EventsLost, LiveEvent, follow
from proctor.sdk.remote.runs import MalformedTask, RemotePrepared, RemoteSession, refuse_files, upload_suite
from proctor.sdk.remote.transport import Transport
from proctor.sdk.requests import spec_of_tasks
from proctor.sdk.submissions import Submitted
from proctor.suites.loading import tasks_further_down
from proctor.suites.service import Alias, SuiteDetail, SuiteRow

if TYPE_CHECKING:
    from httpx2 import Client as Http

__all__ = ["RemoteClient"]

T = TypeVar("T")
_NEWEST = "~newest"
"""Stands for the newest run set on a server; no name looks like it."""


class RemoteClient:
    """One tenant's platform on a server."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

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
        self, *, state: str | None = None, name: str | None = None, before: UUID | None = None, limit: int = 50
    ) -> list[RunSetRow]:
        """The newest run sets first."""
        found = self.transport.get("run-sets", state=state, name=name, limit=limit)
        return _read(list[RunSetRow], found["items"])

    def find(self, reference: str | None) -> RunSetRow:
        """A run set by name or id, the newest without either."""
        return self.status(reference).run_set

    def status(self, reference: str | None) -> RunSetStatus:
        """A run set's progress and what its cells wait for."""
        return _read(RunSetStatus, self.transport.get(_run_set(reference)))

    def leaderboard(
        self, reference: str | None, *, gate: Gate | None = None, must_compare: bool = False
    ) -> Leaderboard:
        """A run set's leaderboard, judged by its own gate or another."""
        path = f"{_run_set(reference)}/leaderboard"
        if gate is None and not must_compare:
            return _read(Leaderboard, self.transport.get(path))
        body = {"gate": None if gate is None else gate.model_dump(mode="json"), "must_compare": must_compare}
        return _read(Leaderboard, self.transport.post(path, body))

    def write_html(self, reference: str | None, path: Path) -> None:
        """Write a run set's report as one self-contained HTML file. Raises ``PathUnusable``."""
        from proctor.reports.html import MATRIX_CELLS, render_html

        board = self.leaderboard(reference)
        _, page, profiles, tasks = self.cells(reference, limit=MATRIX_CELLS)
        with writing(path):
            path.write_text(render_html(board, page.cells, profiles, tasks), encoding="utf-8")

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
        """A page of cells with the names of their profiles (by position) and tasks (by digest)."""
        asked = {"outcome": outcome, "profile": profile, "task": task}
        cells: list[CellRow] = []
        tasks: dict[str, str] = {}
        cursor = None if after is None else _cursor(after)
        while True:
            size = min(_LARGEST_PAGE, limit - len(cells))
            found = self.transport.get(f"{_run_set(reference)}/cells", **asked, limit=size, cursor=cursor)
            cells.extend(_read(list[CellRow], found["items"]))
            tasks.update(found["tasks"])
            cursor = found["next"]
            if cursor is None or len(cells) >= limit:
                break
        last = (
            None if cursor is None else (cells[-1].profile, cells[-1].content_digest, cells[-1].trial, cells[-1].cell)
        )
        page = CellPage(cells=tuple(cells), cursor=last)
        return _read(RunSetRow, found["run_set"]), page, _read(dict[int, str], found["profiles"]), tasks

    def running(self, row: RunSetRow) -> list[Mapping[str, Any]]:
        """Attempts of a run set that run now."""
        return _rows(self.transport.get(f"{_run_set(str(row.id))}/running"))

    def stalled(self, row: RunSetRow) -> list[Stall]:
        """Attempts of a run set that run and have made no progress for the time that the server's settings say."""
        return _read(list[Stall], self.transport.get(f"{_run_set(str(row.id))}/stalled"))

    def attempt(self, reference: str) -> AttemptDetail:
        """An attempt by the beginning of its id, or a cell's last one."""
        found = self.transport.get(f"attempts/{_part(reference)}")
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

    def history(self, series: str) -> list[Mapping[str, Any]]:
        """Every leaderboard revision of a series, oldest first."""
        return _rows(self.transport.get(f"series/{_part(series)}/history"))

    def profiles(self, reference: str | None) -> list[Mapping[str, Any]]:
        """A run set's profiles with their configuration documents."""
        return _rows(self.transport.get(f"{_run_set(reference)}/profiles"))

    def compare(self, references: Sequence[str], *, alpha: float = 0.05) -> Comparison:
        """Compare run sets or profiles pair by pair."""
        return _read(Comparison, self.transport.get("comparisons", side=list(references), alpha=alpha))

    def gate(self, reference: str | None) -> Gate:
        """The gate of a run set's file, as it was planned."""
        return Gate.model_validate(self.transport.get(f"{_run_set(reference)}/gate"))

    def sides(self, reference: str | None) -> list[Side]:
        """A run set's profiles with the cells of each task by class."""
        found = self.transport.get(f"{_run_set(reference)}/sides")
        return [Side(**{**one, "run_set": UUID(one["run_set"]), "tasks": _tasks(one["tasks"])}) for one in found]

    def check_reference(self, text: str) -> None:
        """Raises what the server says where a reference leads nowhere."""
        self.transport.get("references", reference=text)

    def standings(self, suite_id: str) -> dict[str, Any]:
        """Certificates are of the machine that one works on; a server's are in its own leaderboards."""
        return {}

    def events(
        self, *, topics: Sequence[str] = (), after: str | None = None, wait: float | None = None
    ) -> Iterator[LiveEvent | EventsLost]:
        """What happens, from an event's id on or from now on, as long as one reads; ``wait=0``: what is kept.

        A topic is ``run-set:ID``; without any, it is all that happens to run sets and attempts.
        """
        return follow(self.transport, topics, after, wait=wait)

    # --- changing -----------------------------------------------------------------------------------------------------

    def pause(self, reference: str | None) -> RunSetRow:
        """Take a run set out of service; running cells finish."""
        return _read(RunSetRow, self.transport.post(f"{_run_set(reference)}/pause"))

    def cancel(self, reference: str | None) -> RunSetRow:
        """End a run set; its cells stay owed."""
        return _read(RunSetRow, self.transport.post(f"{_run_set(reference)}/cancel"))

    def unblock(self, scope: str, name: str) -> None:
        """Open what a breaker closed, or somebody paused."""
        self.transport.delete(f"blocks/{_part(scope)}/{quote(name)}")

    def label(self, reference: str, name: str) -> RunSetRow:
        """Let a label stand for a run set from now on."""
        return _read(RunSetRow, self.transport.put(f"labels/run-sets/{_part(name)}", {"run_set": reference}))

    def labels(self) -> list[Alias]:
        """Every label of a run set with its history."""
        return _read(list[Alias], self.transport.get("labels/run-sets"))

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
        refuse_files(spec)
        folder = (base / spec.suite).expanduser()
        suite = upload_suite(self, folder) if folder.is_dir() else spec.suite
        document = {**spec_document(spec), "suite": suite}
        return RemotePrepared(spec=spec, spec_digest=spec_digest, document=document)

    def open_run_set(
        self,
        prepared: RemotePrepared,
        *,
        on_moved: OnMoved = OnMoved.ASK,
        fresh: bool = False,
        selection: Selection | None = None,
    ) -> Submitted:
        """Find or make the run set of a file and queue what it owes."""
        chosen = selection or Selection()
        body = {
            "spec": prepared.document,
            "spec_digest": prepared.spec_digest,
            "fresh": fresh,
            "go_on": on_moved is OnMoved.CONTINUE,
            "new": on_moved is OnMoved.NEW,
            "only_owed": chosen.only_owed,
            "limit": chosen.limit,
            "task": chosen.task_glob,
        }
        done = _read(Submitted, self.transport.post("run-sets", body))
        told = [line.partition(": ") for line in done.malformed]
        prepared.resolved.malformed = tuple(MalformedTask(name=name, problems=(why,)) for name, _, why in told)
        prepared.resolved.remarks = done.remarks
        return done

    def session(self, prepared: RemotePrepared, opened: Submitted) -> RemoteSession:
        """The run set, watched; with nothing to do where nothing of it is queued or runs anywhere."""
        idle = opened.queued == 0 and self.status(str(opened.run_set.id)).progress.live == 0
        return RemoteSession(self, opened.run_set, nothing_to_do=idle)

    def resume(self, reference: str | None) -> tuple[RemoteSession, int]:
        """Queue a run set's owed cells again, dead letters too."""
        done = self.transport.post(f"{_run_set(reference)}/resume")
        return RemoteSession(self, _read(RunSetRow, done["run_set"]), nothing_to_do=False), int(done["queued"])

    def how_to_go_on(self, row: RunSetRow) -> str:
        """What to say to whoever looks away."""
        return f"The server goes on with it. To look: proctor status {row.name}; to stop it: proctor pause {row.name}"

    # --- suites -------------------------------------------------------------------------------------------------------

    def suites(self) -> list[SuiteRow]:
        """Every suite."""
        return _read(list[SuiteRow], list(self.transport.pages("suites")))

    def import_suite(self, path: Path, *, label: str | None) -> tuple[str, SuiteDetail]:
        """Send a folder of tasks, with a label if one is given; its id and what is in it."""
        suite_id = upload_suite(self, path, label=label)
        return suite_id, self.suite(suite_id)

    def tasks_further_down(self, path: Path) -> str:
        """What to tell of folders below a suite's that hold tasks and are not read; empty where there is none."""
        return tasks_further_down(path)

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
        return _read(SuiteDetail, self.transport.get(f"suites/{_part(reference)}"))

    def set_alias(self, label: str, reference: str) -> None:
        """Let a label stand for a suite from now on."""
        self.transport.put(f"labels/suites/{_part(label)}", {"suite": reference})

    def aliases(self) -> list[Alias]:
        """Every label with its history."""
        return _read(list[Alias], self.transport.get("labels/suites"))

    def __getattr__(self, name: str) -> NoReturn:
        """What only this machine's own platform can do. Raises ``NotOnServer``."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotOnServer(where=f"{name} ({self.transport.server})")


_LARGEST_PAGE = 1000


def _read(kind: type[T], value: Any) -> T:
    found: T = TypeAdapter(kind).validate_python(value)
    return found


def _part(text: str) -> str:
    return quote(text, safe="")


def _run_set(reference: str | None) -> str:
    return f"run-sets/{_part(reference or _NEWEST)}"


def _tasks(pairs: Any) -> dict[TaskKey, TaskCells]:
    return dict(_read(list[tuple[TaskKey, TaskCells]], pairs))


def _place(cell: CellRow) -> tuple[int, str, int, UUID]:
    return cell.profile, cell.content_digest, cell.trial, cell.cell


def _rows(value: Any) -> list[Mapping[str, Any]]:
    """Rows as they are stored, their times as times."""
    return [_dated(row) for row in value]


def _dated(row: Mapping[str, Any]) -> dict[str, Any]:
    """By the rule that a column of a time ends with ``_at``."""
    return {
        name: datetime.fromisoformat(value) if name.endswith("_at") and isinstance(value, str) else value
        for name, value in row.items()
    }


def _cursor(place: Sequence[object]) -> str:
    import base64
    import json

    text = json.dumps([part if isinstance(part, int) else str(part) for part in place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
