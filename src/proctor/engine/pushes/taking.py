"""A pushed run set on record: its own configurations, cells and attempts, with classes derived here.

Who pushed it is part of the origin of each configuration, and with it of every cell's id. So nothing that is pushed is
a cell of ours: no run reuses its verdicts, and no push touches an attempt of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.evidence import Evidence, GradingFacts, VerifierProblem
from proctor.engine.identity import attempt_id
from proctor.engine.outcomes import Outcome, OutcomePolicy, classify
from proctor.engine.planning import PlannedProfile, RunSetRow
from proctor.engine.pushes.records import (
    ConfigurationDocument,
    PushedArtifact,
    PushedAttempt,
    PushedCell,
    PushedGrading,
    PushManifest,
)
from proctor.engine.recording import insert_evidence, jsonb_text, memory_owner
from proctor.engine.rows import evidence_rows, grading_row, outcome_row
from proctor.kernel.canonical import Json, digest
from proctor.kernel.errors import UsageError
from proctor.kernel.validation import words_of
from proctor.suites.service import StoredTask

__all__ = ["Ground", "PushContradicts", "Taken", "origin_of", "planned", "pushed_by", "reasons_against", "take"]

_PREFIX = "import:push:"
_AHEAD = timedelta(minutes=10)
"""How far another machine's clock may be ahead."""
_run = partial(run_query, "proctor.engine")


class PushContradicts(UsageError):
    """What was pushed contradicts itself, or what is here; nothing of it was written."""

    code = "push-contradicts"
    remedy = "Push it from where it ran, as it was recorded there."


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What cells of a pushed run set are taken by."""

    tenant: UUID
    row: RunSetRow
    profiles: Mapping[str, Mapping[str, Any]]
    """By name, as they were stored."""
    tasks: Mapping[str, StoredTask]
    policy: OutcomePolicy


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A new attempt with everything that is to be written of it."""

    cell: UUID
    task: str
    id: UUID
    said: PushedAttempt
    gradings: tuple[GradingFacts, ...]
    outcomes: tuple[Outcome, ...]


def origin_of(who: str, source: str) -> str:
    """The origin of what somebody pushed."""
    return f"{_PREFIX}{source}:{who}"


def pushed_by(origin: str) -> str | None:
    """Who pushed what has that origin; ``None``: nobody did."""
    return origin.removeprefix(_PREFIX).partition(":")[2] if origin.startswith(_PREFIX) else None


def reasons_against(profiles: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why pushed results are not compared with what ran here."""
    names = sorted({who for one in profiles if (who := pushed_by(str(one["document"]["origin"]))) is not None})
    return [f"pushed by {who}: nothing here saw it run" for who in names]


def planned(manifest: PushManifest, who: str) -> list[PlannedProfile]:
    """Profiles with configurations that say who pushed them. Raises ``PushContradicts`` naming the field."""
    return [_profile(manifest, place, who) for place in range(len(manifest.profiles))]


def _profile(manifest: PushManifest, place: int, who: str) -> PlannedProfile:
    said = manifest.profiles[place]
    try:
        ConfigurationDocument.model_validate(said.document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in ("profiles", place, "document", *first["loc"]))
        raise PushContradicts(f"{words_of(first)}.", where=where) from error
    document: dict[str, Json] = {**said.document, "origin": origin_of(who, manifest.source)}
    try:
        configuration = digest(document)
    except ValueError as error:
        raise PushContradicts(f"{error}.", where=f"profiles.{place}.document") from error
    return PlannedProfile(
        name=said.name,
        series=said.series,
        configuration=configuration,
        document=document,
        provider=said.provider,
    )


def take(connection: Connection, ground: Ground, cells: Sequence[PushedCell]) -> list[Taken]:
    """What of these cells' attempts is new, checked. Raises ``PushContradicts``."""
    places = _places(connection, ground, {cell.task for cell in cells})
    taken = [one for cell in cells for one in _attempts(ground, places, cell)]
    ids = [one.id for one in taken]
    there = set(_run(connection, "attempts_there", tenant=ground.tenant, ids=ids).scalars())
    return [one for one in taken if one.id not in there]


def record(connection: Connection, ground: Ground, taken: Sequence[Taken], artifacts: Mapping[UUID, Json]) -> int:
    """Write them; returns how many were new. ``artifacts``: as their rows are to name them."""
    tenant = ground.tenant
    rows = [_row(ground, one, artifacts[one.id]) for one in taken]
    new = set(_run(connection, "insert_pushed_attempts", tenant=tenant, rows=jsonb_text(rows)).scalars())
    fresh = [one for one in taken if one.id in new]
    evidence = [row for one in fresh for row in evidence_rows(one.id, _evidence(one.said))]
    insert_evidence(connection, tenant, evidence)
    gradings = [grading_row(one.id, grading) for one in fresh for grading in one.gradings]
    _run(connection, "insert_gradings", tenant=tenant, rows=jsonb_text(gradings))
    version = ground.policy.version
    outcomes = [outcome_row(one.id, version, outcome) for one in fresh for outcome in one.outcomes]
    _run(connection, "insert_outcomes", tenant=tenant, rows=jsonb_text(outcomes))
    return len(fresh)


def _places(connection: Connection, ground: Ground, tasks: set[str]) -> dict[tuple[int, str, int], UUID]:
    key = {"tenant": ground.tenant, "run_set": ground.row.id, "tasks": sorted(tasks)}
    rows = _run(connection, "places_of", **key)
    return {(row.profile, row.content_digest, row.place): row.cell_id for row in rows}


def _attempts(ground: Ground, places: Mapping[tuple[int, str, int], UUID], cell: PushedCell) -> Iterator[Taken]:
    profile = ground.profiles.get(cell.profile)
    found = None if profile is None else places.get((profile["position"], cell.task, cell.place))
    where = f"{cell.profile} on {cell.task[:12]}, trial {cell.place}"
    if profile is None or found is None:
        raise PushContradicts("The run set expects no such cell.", where=where)
    if len({one.number for one in cell.attempts}) < len(cell.attempts):
        raise PushContradicts("Two attempts have one number.", where=where)
    for said in cell.attempts:
        _check_times(said, where)
        gradings = tuple(_grading(ground.tasks[cell.task], one, where) for one in said.gradings)
        outcomes = _outcomes(ground, profile["document"], said, gradings)
        _check_outcomes(said, outcomes, f"{where}, attempt {said.number}")
        identity = attempt_id(ground.tenant, found, said.number)
        yield Taken(cell=found, task=cell.task, id=identity, said=said, gradings=gradings, outcomes=outcomes)


def _check_times(said: PushedAttempt, where: str) -> None:
    if said.ended_at < said.started_at or any(one.ended_at < one.started_at for one in said.evidence):
        raise PushContradicts("Something ends before it begins.", where=where)
    if said.last_moment > datetime.now(UTC) + _AHEAD:
        raise PushContradicts("It ends in the future.", where=where)
    numbers = [one.seq for one in said.evidence]
    if numbers != sorted(set(numbers)) or len({one.number for one in said.gradings}) < len(said.gradings):
        raise PushContradicts("Its evidence or its gradings are out of order.", where=where)


def _grading(task: StoredTask, said: PushedGrading, where: str) -> GradingFacts:
    """A grading whose verdict is read off its rewards here, and has to be what it says of itself."""
    told = said.detail.get("problem")
    if task.task is None or told not in (None, *VerifierProblem):
        raise PushContradicts("It has a grading that can't be.", where=where)
    absent = 0.0 if task.task.steps else None
    primary = None if said.rewards is None else said.rewards.get(task.task.primary_reward, absent)
    problem = VerifierProblem(told) if told else None
    passed = None if problem or primary is None else primary >= task.task.pass_threshold
    if (passed, primary) != (said.detail.get("passed"), said.detail.get("primary")):
        raise PushContradicts(f"Grading {said.number} says of itself what its rewards do not.", where=where)
    return GradingFacts(
        number=said.number,
        verifier_digest=task.verifier_digest,
        mode=said.mode,
        backend=said.backend,
        forgeable=said.forgeable,
        rewards=said.rewards,
        passed=passed,
        problem=problem,
        primary=primary,
        graded_at=said.graded_at,
        detail=said.detail,
    )


def _outcomes(
    ground: Ground, document: Mapping[str, Json], said: PushedAttempt, gradings: Sequence[GradingFacts]
) -> tuple[Outcome, ...]:
    evidence, memory = _evidence(said), memory_owner(document)
    return tuple(
        replace(
            classify(ground.policy, evidence, grading, out_of_memory=memory),
            grading=0 if grading is None else grading.number,
        )
        for grading in (*gradings,) or (None,)
    )


def _check_outcomes(said: PushedAttempt, derived: Sequence[Outcome], where: str) -> None:
    claimed = {one.grading: (one.outcome, one.owner, one.verdict) for one in said.outcomes}
    for one in derived:
        found = (one.outcome.value, one.owner.value, one.verdict)
        if claimed.get(one.grading, found) != found:
            told = claimed[one.grading][0]
            raise PushContradicts(f"It says {told}; its evidence says {found[0]}.", where=where)


def _evidence(said: PushedAttempt) -> list[Evidence]:
    return [Evidence(**dict(one)) for one in said.evidence]


def _row(ground: Ground, one: Taken, artifacts: Json) -> dict[str, Any]:
    usage = None if one.said.usage is None else one.said.usage.model_dump()
    return {
        "id": one.id,
        "cell_id": one.cell,
        "number": one.said.number,
        "run_set_id": ground.row.id,
        "content_digest": one.task,
        "backend": one.said.backend,
        "trace_id": one.id.hex,
        "started_at": one.said.started_at,
        "ended_at": one.said.ended_at,
        "usage": usage if usage and any(amount is not None for amount in usage.values()) else None,
        "limits": one.said.limits,
        "artifacts": artifacts,
        "last_segment": 0 if one.said.log is None else 1,
    }


def objects_of(taken: Iterable[Taken]) -> Iterator[PushedArtifact]:
    """What has to be there for them."""
    for one in taken:
        yield from one.said.artifacts
        if one.said.log is not None:
            yield one.said.log
