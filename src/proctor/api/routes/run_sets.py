"""Run sets: what there is, how far it is, what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue
from sqlalchemy import Connection

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging, WordsOfName
from proctor.api.run_set_documents import (
    CellsOfRunSet,
    ProfileDocument,
    RevisionDocument,
    RunningAttempt,
    SideDocument,
)
from proctor.api.threads import slowly
from proctor.database import deadlines
from proctor.database.errors import OutOfTime
from proctor.engine import reading
from proctor.engine.choosing import CellChoice, position_of
from proctor.engine.errors import SpecInvalid
from proctor.engine.matrices import Matrix, MatrixIds
from proctor.engine.outcomes import OutcomeClass
from proctor.engine.pairs import Side
from proctor.engine.planning import RunSetRow
from proctor.engine.quotas import refuse_over_budget
from proctor.engine.reading import CellRow, RunSetStatus, Stall
from proctor.engine.spec import Gate
from proctor.identity.audit_log import Action, note
from proctor.identity.permissions import Permission
from proctor.notifications import outbox
from proctor.sdk.cells import CellDetail
from proctor.sdk.client import Leaderboard
from proctor.sdk.previews import DryRun, dry_run
from proctor.sdk.requests import RunRequest
from proctor.sdk.secrets import refuse_missing
from proctor.sdk.submissions import Sent, Submitted, prepare, submit
from proctor.suites.service import Alias

__all__ = ["router"]

router = APIRouter(tags=["run sets"], route_class=Repeatable)
RunSetReference = Annotated[str, Path(min_length=1, max_length=200, description="A name, an id, or its beginning.")]
NEWEST = "~newest"
"""Stands for the newest run set; no name looks like it."""
_REHEARSAL_SEC: int = 45
"""Others of the tenant can plan nothing meanwhile; some 300,000 new cells are rehearsed in it on an idle machine."""
RunSetState = Literal["running", "complete", "complete_with_gaps", "paused", "cancelled"]
OfProfile = Annotated[str | None, Query(max_length=100, description="Only those of this profile.")]
MOST_AT_ONCE: int = 10_000
"""Attempts that run at once which are listed: more than an installation has."""
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Writes = Annotated[Asked, needs(Permission.RUNS_WRITE)]


def named(reference: str) -> str | None:
    """A reference of a path as the client takes it."""
    return None if reference == NEWEST else reference


class RunSetCreation(BaseModel):
    """A run-set file as JSON, its suite by label or id, and how to go on."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "spec": {"name": "nightly", "suite": "workshop", "profiles": [{"name": "noop", "agent": "noop"}]},
                    "spec_digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                }
            ]
        },
    )

    spec: dict[str, JsonValue] = Field(description="As docs/reference/run-set-file.md says.")
    spec_digest: str = Field(pattern="^[0-9a-f]{64}$", description="sha256 of the file: the same file goes on.")
    scripts: dict[str, str] = Field(
        default_factory=dict, max_length=100, description="Texts of the spec's script files, by the paths in it."
    )
    fresh: bool = Field(default=False, description="A new run set of new trials, nothing reused.")
    go_on: bool = Field(default=False, description="Go on as resolved then, if it has moved.")
    new: bool = Field(default=False, description="A new run set, if what it resolves to has moved.")
    only_owed: bool = Field(default=False, description="Only cells that had an attempt and no verdict.")
    limit: int | None = Field(default=None, ge=1, description="Work on at most so many cells now.")
    task: str | None = Field(default=None, max_length=200, description="Work only on tasks whose name fits.")


class Judging(BaseModel):
    """By which gate a leaderboard is to be judged."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"gate": {"strict": 0.6}}]})

    gate: Gate | None = Field(default=None, description="Other than the file's.")
    must_compare: bool = Field(default=False, description="Refuse where the gate's `against` would be open.")


class Resuming(BaseModel):
    """Which of its owed cells: those that fit all that is said; nothing said: all."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"outcomes": ["image_error"]}]})

    outcomes: list[OutcomeClass | Literal["not_started"]] = Field(
        default_factory=list, max_length=30, description="The classes of their last attempts."
    )
    profiles: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default_factory=list, max_length=200, description="Only those of these profiles."
    )
    tasks: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list, max_length=200, description="Only those whose task's name fits one of these patterns."
    )
    cell: str | None = Field(default=None, min_length=1, max_length=64, description="A cell's id, or its beginning.")

    @property
    def choice(self) -> CellChoice | None:
        """What is said; `None`: nothing."""
        said = CellChoice(
            outcomes=tuple(self.outcomes), profiles=tuple(self.profiles), tasks=tuple(self.tasks), cell=self.cell
        )
        return None if said == CellChoice() else said


class Resumed(BaseModel):
    """A run set that goes on. `queued`: cells for which there is something to do again."""

    run_set: RunSetRow
    queued: int


class Checked(BaseModel):
    """Something that is as it should be."""

    reference: str


class LabelMove(BaseModel):
    """What the label stands for from now on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"run_set": "nightly"}]})

    run_set: str = Field(min_length=1, max_length=200)


@router.get("/run-sets", response_model=Page[RunSetRow])
def list_run_sets(
    asked: _Reads,
    paging: Paging,
    state: Annotated[RunSetState | None, Query(description="Only those in this state.")] = None,
    name: Annotated[str | None, Query(max_length=100, description="Only those of this name.")] = None,
    suite: Annotated[str | None, Query(max_length=64, description="Only those of the suite of this id.")] = None,
    words: WordsOfName = None,
) -> Response:
    """The newest first."""
    (before,) = paging.place(UUID) or (None,)
    found = asked.client.run_sets(state=state, name=name, suite=suite, words=words, before=before, limit=paging.limit)
    return answered(paging.page(found, lambda row: [row.id]))


@router.post("/run-sets", status_code=202, responses={202: {"headers": {"Location": {}}}})
@slowly
def create_run_set(asked: _Writes, body: RunSetCreation, response: Response) -> Submitted:
    """Find or make the run set of a file, and queue what it owes. Safe to repeat: what is decided is not run again."""

    def within(opening: Callable[[Connection], Submitted]) -> Submitted:
        def work(connection: Connection) -> Submitted:
            done = opening(connection)
            target, name, queued = str(done.run_set.id), done.run_set.name, done.queued
            note(connection, asked.tenant, asked.actor, Action.RUN_SET_STARTED, target, name=name, queued=queued)
            return done

        return asked.once(work)

    done = submit(asked.platform, _sent(body), _request(body), within)
    response.headers["Location"] = f"/api/v1/run-sets/{done.run_set.id}"
    return done


@router.post("/run-sets/rehearsal")
@slowly
def rehearse_run_set(asked: _Writes, body: RunSetCreation) -> DryRun:
    """What starting it would take: cells, time, money, and what makes it not comparable. Nothing is started."""
    prepared = prepare(asked.platform, _sent(body), fresh=body.fresh)
    try:
        with deadlines.within(_REHEARSAL_SEC):
            return dry_run(asked.client, prepared, _request(body))
    except OutOfTime as error:
        cells = prepared.resolved.plan.cells
        raise SpecInvalid(
            f"It was not known within {_REHEARSAL_SEC} s what starting {cells:,} cells would take.",
            where="trials",
            remedy="Ask for fewer trials, tasks or profiles; or start it: that takes the time that it needs.",
        ) from error


def _sent(body: RunSetCreation) -> Sent:
    return Sent(document=body.spec, digest=body.spec_digest, scripts=body.scripts)


def _request(body: RunSetCreation) -> RunRequest:
    return RunRequest(
        limit=body.limit, task=body.task, only_owed=body.only_owed, fresh=body.fresh, go_on=body.go_on, new=body.new
    )


@router.get("/run-sets/{run_set}")
@slowly
def show_run_set(asked: _Reads, run_set: RunSetReference) -> RunSetStatus:
    """One run set: its progress and what its cells wait for, a large one's as counted a short while ago."""

    def work(connection: Connection) -> tuple[RunSetRow, outbox.Newest | None]:
        row = reading.find_run_set(connection, asked.tenant, named(run_set))
        return row, outbox.newest_of(connection, asked.tenant)

    row, newest = asked.server.database.as_tenant(asked.tenant, work)
    counted = asked.counted.of((row.id, row.state), newest, lambda: asked.client.status(str(row.id)))
    return replace(counted, run_set=row)


@router.get("/run-sets/{run_set}/leaderboard", response_model=Leaderboard)
@slowly
def show_leaderboard(asked: _Reads, run_set: RunSetReference) -> Response:
    """Strict, graded, coverage and bounds of each profile, with all that it takes to believe them."""
    return answered(asked.client.leaderboard(named(run_set)))


@router.post("/run-sets/{run_set}/leaderboard", response_model=Leaderboard)
@slowly
def judge_leaderboard(asked: _Reads, run_set: RunSetReference, body: Judging) -> Response:
    """The same, judged by another gate. Nothing is written."""
    board = asked.client.leaderboard(named(run_set), gate=body.gate, must_compare=body.must_compare)
    return answered(board)


@router.get("/run-sets/{run_set}/sides", response_model=Page[SideDocument])
@slowly
def list_sides(asked: _Reads, run_set: RunSetReference, paging: Paging, profile: OfProfile = None) -> Response:
    """The run set's profiles with the cells of each task by class: what comparisons and JUnit files are made of."""
    sides = asked.client.sides(named(run_set))
    position_of({number: side.profile for number, side in enumerate(sides)}, profile)
    found = [_side(side) for side in sides if profile in (None, side.profile)]
    return answered(paging.cut(found, lambda side: side["profile"]))


def _side(side: Side) -> Any:
    plain = {name: getattr(side, name) for name in SideDocument.model_fields if name != "tasks"}
    return {**plain, "tasks": [[key, cells] for key, cells in side.tasks.items()]}


@router.get("/run-sets/{run_set}/cells", response_model=CellsOfRunSet)
def list_cells(
    asked: _Reads,
    run_set: RunSetReference,
    paging: Paging,
    outcome: Annotated[
        OutcomeClass | Literal["not_started"] | None, Query(description="Only those of this class.")
    ] = None,
    profile: OfProfile = None,
    task: Annotated[str | None, Query(max_length=200, description="Only those whose task's name fits.")] = None,
) -> Response:
    """The run set's cells."""
    after = paging.place(int, str, int, UUID)
    row, page, profiles, tasks = asked.client.cells(
        named(run_set), outcome=outcome, profile=profile, task=task, after=after, limit=paging.limit
    )
    told = paging.page(page.cells, _place)
    return answered({"run_set": row, **told, "profiles": profiles, "tasks": tasks})


@router.get("/run-sets/{run_set}/matrix", response_model=Matrix)
@slowly
def show_matrix(asked: _Reads, run_set: RunSetReference) -> Response:
    """All cells of the run set at once, as columns of one order: what a picture of them is drawn from.

    `event` is what to send as `after` to `/ws` or `/events`: nothing that changes a cell is missed between.
    """
    return answered(asked.client.matrix(named(run_set)))


@router.get("/run-sets/{run_set}/matrix/ids", response_model=MatrixIds)
@slowly
def show_matrix_ids(asked: _Reads, run_set: RunSetReference) -> Response:
    """The ids of the cells of the run set's matrix, and of their attempts, in its order: to open or to follow one."""
    return answered(asked.client.matrix_ids(named(run_set)))


@router.get("/run-sets/{run_set}/cells/{cell}", response_model=CellDetail)
def show_cell(
    asked: _Reads,
    run_set: RunSetReference,
    cell: Annotated[str, Path(min_length=1, max_length=64, description="A cell's id, or its beginning.")],
) -> Response:
    """One cell of the run set, with every attempt at it, the oldest first, and why each came to its class."""
    return answered(asked.client.cell(named(run_set), cell))


def _place(cell: CellRow) -> list[object]:
    return [cell.profile, cell.content_digest, cell.trial, cell.cell]


@router.get("/run-sets/{run_set}/profiles", response_model=Page[ProfileDocument])
def list_profiles(asked: _Reads, run_set: RunSetReference, paging: Paging, profile: OfProfile = None) -> Response:
    """The run set's profiles with their configuration documents."""
    rows = asked.client.profiles(named(run_set))
    position = position_of({row["position"]: row["name"] for row in rows}, profile)
    found = [row for row in rows if position in (None, row["position"])]
    return answered(paging.cut(found, lambda row: row["position"]))


@router.get("/run-sets/{run_set}/running", response_model=Page[RunningAttempt])
def list_running(asked: _Reads, run_set: RunSetReference, paging: Paging, profile: OfProfile = None) -> Response:
    """Attempts that run now, the longest-running first."""
    row = asked.client.find(named(run_set))
    position = _position(asked, row, profile)
    rows = asked.client.running(row, limit=MOST_AT_ONCE)
    return answered(paging.cut([one for one in rows if position in (None, one["profile"])], lambda one: one["id"]))


@router.get("/run-sets/{run_set}/stalled", response_model=Page[Stall])
def list_stalled(asked: _Reads, run_set: RunSetReference, paging: Paging, profile: OfProfile = None) -> Response:
    """Attempts that have made no progress for the time that the settings say, the longest first."""
    row = asked.client.find(named(run_set))
    _position(asked, row, profile)
    rows = asked.client.stalled(row, limit=MOST_AT_ONCE)
    return answered(paging.cut([one for one in rows if profile in (None, one.profile)], lambda one: one.attempt))


def _position(asked: Asked, row: RunSetRow, profile: str | None) -> int | None:
    """Where a profile of the run set stands. Raises ``SpecInvalid`` naming those there are."""
    rows = [] if profile is None else asked.client.profiles(str(row.id))
    return position_of({one["position"]: one["name"] for one in rows}, profile)


@router.get("/run-sets/{run_set}/gate", response_model=Gate)
def show_gate(asked: _Reads, run_set: RunSetReference) -> Gate:
    """The gate of the run set's file."""
    return asked.client.gate(named(run_set))


@router.get("/references")
def check_reference(
    asked: _Reads, reference: Annotated[str, Query(min_length=1, max_length=300, description="As for comparisons.")]
) -> Checked:
    """Whether a reference leads to a run set; 404 or 422 says why not."""
    asked.client.check_reference(reference)
    return Checked(reference=reference)


@router.post("/run-sets/{run_set}/resume", status_code=202)
@slowly
def resume_run_set(asked: _Writes, run_set: RunSetReference, body: Resuming | None = None) -> Resumed:
    """Queue its owed cells again, dead letters too; with a body, those of them that it means."""
    row = asked.client.find(named(run_set))
    refuse_over_budget(asked.server.database, asked.tenant)
    refuse_missing(asked.platform, asked.platform.engine.stored_spec(row.id), where="secrets.names")
    queued = asked.platform.engine.resume(row.id, None if body is None else body.choice)
    after = asked.client.find(str(row.id))
    answer = Resumed(run_set=after, queued=queued)
    return asked.noted(answer, Action.RUN_SET_CONTROLLED, str(row.id), how="resume")


@router.delete("/blocks/{scope}/{name:path}")
def unblock(
    asked: _Writes,
    scope: Annotated[str, Path(max_length=20, description="provider, registry or node.")],
    name: Annotated[str, Path(min_length=1, max_length=300)],
) -> Checked:
    """Let cells start again that wait for what a breaker closed, or somebody paused."""
    asked.client.unblock(scope, name)
    return Checked(reference=f"{scope} {name}")


@router.post("/run-sets/{run_set}/pause")
def pause_run_set(asked: _Writes, run_set: RunSetReference) -> RunSetRow:
    """Start no more of its cells; running ones finish."""
    row = asked.client.pause(named(run_set))
    return asked.noted(row, Action.RUN_SET_CONTROLLED, str(row.id), how="pause")


@router.post("/run-sets/{run_set}/cancel")
def cancel_run_set(asked: _Writes, run_set: RunSetReference) -> RunSetRow:
    """End it; its cells stay owed."""
    row = asked.client.cancel(named(run_set))
    return asked.noted(row, Action.RUN_SET_CONTROLLED, str(row.id), how="cancel")


@router.get("/series/{series}/history", response_model=Page[RevisionDocument])
@slowly
def show_history(
    asked: _Reads,
    series: Annotated[str, Path(min_length=1, max_length=200)],
    paging: Paging,
    since: Annotated[AwareDatetime | None, Query(description="Nothing from before.")] = None,
) -> Response:
    """Every leaderboard revision of a series, oldest first."""
    found = [row for row in asked.client.history(series) if since is None or row["created_at"] >= since]
    return answered(paging.cut(found, _revision))


def _revision(row: Mapping[str, Any]) -> str:
    return f"{row['suite_id']} {row['configuration']} {row['revision']}"


@router.get("/labels/run-sets", response_model=Page[Alias])
def list_run_set_labels(
    asked: _Reads,
    paging: Paging,
    name: Annotated[str | None, Query(max_length=100, description="Only this label.")] = None,
) -> Response:
    """Every label of a run set with its history."""
    found = [one for one in asked.client.labels() if name in (None, one.name)]
    return answered(paging.cut(found, lambda one: f"{one.name} {one.valid_from.isoformat()}"))


@router.put("/labels/run-sets/{label}")
def move_run_set_label(
    asked: _Writes, label: Annotated[str, Path(min_length=1, max_length=100)], body: LabelMove
) -> RunSetRow:
    """Let a label stand for a run set from now on."""
    return asked.client.label(body.run_set, label)
