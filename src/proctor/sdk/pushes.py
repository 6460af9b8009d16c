"""``proctor push``: what a server does with a run set of another installation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.engine import planning, reading
from proctor.engine.errors import RunSetUnknown
from proctor.engine.imports.bringing import UNDER_WAY
from proctor.engine.planning import Plan, RunSetRow
from proctor.engine.policy_book import keep, recall
from proctor.engine.pushes.records import PushedArtifact, PushedCell, PushManifest
from proctor.engine.pushes.taking import (
    Ground,
    PushContradicts,
    Taken,
    objects_of,
    planned,
    pushed_by,
    record,
    take,
)
from proctor.engine.recording import link_results
from proctor.engine.resolving import planned_tasks
from proctor.engine.segments import segment_key
from proctor.engine.spec import check_spec, spec_document
from proctor.kernel.canonical import digest
from proctor.queue.service import Band
from proctor.sdk.work import CELLS

__all__ = ["TakenPage", "begin_push", "complete_push", "missing_objects", "object_key", "take_cells"]

SUFFIX: str = ".pushed"
"""Of its name: nothing that is pushed may stand for a run set of the server's own by its name."""


@dataclass(frozen=True, kw_only=True)
class TakenPage:
    """What came of a page of cells. ``known``: attempts that were there already and stay as they are."""

    new: int
    known: int


def begin_push(platform: Platform, who: str, manifest: PushManifest) -> RunSetRow:
    """Find or make the run set that a push fills. Raises ``PushContradicts``, ``SpecInvalid``, ``SuiteUnknown``."""
    spec = check_spec({**manifest.spec, "suite": manifest.suite}, where="spec")
    suite_id = platform.suites.resolve(platform.tenant, manifest.suite)
    tasks = platform.suites.tasks(platform.tenant, suite_id)
    if len(manifest.profiles) * len(tasks) * spec.trials > CELLS:
        raise PushContradicts(f"It expects more than {CELLS:,} cells.", where="spec")
    if len({one.name for one in manifest.profiles}) < len(manifest.profiles):
        raise PushContradicts("Two profiles have one name.", where="profiles")
    plan = Plan(
        tenant=platform.tenant,
        name=manifest.name[: 100 - len(SUFFIX)] + SUFFIX,
        spec_digest=digest({"push": manifest.source, "who": who}),
        suite_id=suite_id,
        spec=spec_document(spec),
        policy_version=manifest.policy_version,
        reuse_sec=None,
        trials=spec.trials,
        band=Band.LOW,
        profiles=planned(manifest, who),
        tasks=planned_tasks(tasks, spec),
    )
    return platform.engine.read(lambda connection: _run_set(connection, plan, manifest.policy))


def _run_set(connection: Connection, plan: Plan, policy: str | None) -> RunSetRow:
    if policy is not None and keep(connection, plan.tenant, policy, where="policy").version != plan.policy_version:
        raise PushContradicts("The policy is not the one of that version.", where="policy")
    recall(connection, plan.tenant, plan.policy_version)
    planning.lock(connection, plan.tenant)
    found = planning.find(connection, plan)
    if found is None:
        identity = planning.create(connection, plan)
        planning.set_state(connection, plan.tenant, identity, "running", UNDER_WAY)
        found = planning.find(connection, plan)
    assert found is not None
    return found


def missing_objects(platform: Platform, digests: Sequence[str]) -> list[str]:
    """Which are not here yet, or for so long that they might be swept before an attempt names them."""
    return [one for one in digests if not platform.objects.is_fresh(object_key(platform.tenant, one))]


def object_key(tenant: UUID, sha256: str) -> str:
    """Where an object that was pushed is: by its digest, so that none is ever another."""
    return f"{tenant}/pushed/{sha256}"


def take_cells(platform: Platform, who: str, run_set: UUID, cells: Sequence[PushedCell]) -> TakenPage:
    """Write attempts of a push of one's own. Raises ``PushContradicts``, ``RunSetUnknown``."""
    ground = platform.engine.read(lambda connection: _ground(connection, platform, who, run_set))
    taken = platform.engine.read(lambda connection: take(connection, ground, cells))
    _check_objects(platform, taken)
    for one in taken:
        _keep_log(platform, one)
    artifacts = {one.id: [_artifact(platform.tenant, kept) for kept in one.said.artifacts] for one in taken}
    new = platform.engine.read(lambda connection: record(connection, ground, taken, artifacts))
    return TakenPage(new=new, known=sum(len(cell.attempts) for cell in cells) - new)


def complete_push(platform: Platform, who: str, run_set: UUID) -> RunSetRow:
    """Let what came count for the pushed run set. Safe to repeat."""
    ground = platform.engine.read(lambda connection: _ground(connection, platform, who, run_set))
    version = ground.row.policy_version
    platform.engine.read(lambda connection: link_results(connection, platform.tenant, run_set, version))
    return platform.engine.finish(run_set)


def _ground(connection: Connection, platform: Platform, who: str, run_set: UUID) -> Ground:
    """Raises ``RunSetUnknown`` for anything but a push of that user's."""
    row = reading.find_run_set(connection, platform.tenant, str(run_set))
    profiles = reading.profiles_of(connection, platform.tenant, row.id)
    if {pushed_by(str(one["document"]["origin"])) for one in profiles} != {who}:
        raise RunSetUnknown(f"There is no run set {str(run_set)!r}.")
    tasks = platform.suites.tasks(platform.tenant, row.suite_id)
    return Ground(
        tenant=platform.tenant,
        row=row,
        profiles={one["name"]: one for one in profiles},
        tasks={one.content_digest: one for one in tasks},
        policy=recall(connection, platform.tenant, row.policy_version),
    )


def _check_objects(platform: Platform, taken: Sequence[Taken]) -> None:
    wanted = list(dict.fromkeys(one.sha256 for one in objects_of(taken)))
    if missing := missing_objects(platform, wanted):
        raise PushContradicts(f"{len(missing)} of its objects were not sent.", where=missing[0])


def _keep_log(platform: Platform, one: Taken) -> None:
    """An attempt's log as its one segment, if it is one: lines of JSON with a text."""
    if one.said.log is None:
        return
    data = platform.objects.get(object_key(platform.tenant, one.said.log.sha256))
    if not _is_log(data):
        raise PushContradicts("Its log is none.", where=one.said.log.sha256)
    platform.objects.put(segment_key(platform.tenant, one.id, "log", 1), data)


def _is_log(data: bytes) -> bool:
    try:
        lines = [json.loads(line) for line in data.splitlines()]
    except (ValueError, RecursionError):
        return False
    return all(isinstance(line, dict) and isinstance(line.get("text"), str) for line in lines)


def _artifact(tenant: UUID, kept: PushedArtifact) -> dict[str, str | int]:
    return {"name": kept.name, "key": object_key(tenant, kept.sha256), "sha256": kept.sha256, "size": kept.size}
