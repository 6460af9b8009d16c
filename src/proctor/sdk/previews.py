"""What starting a run would take: the answer of ``--dry-run``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from proctor.engine.attempts import SETUP_TIMEOUT_SEC
from proctor.engine.planning import CellKind, PlannedProfile
from proctor.engine.policy_book import reasons_against
from proctor.engine.step_grading import GRADINGS
from proctor.engine.terms import obstacles, terms_of
from proctor.kernel.canonical import Json
from proctor.kernel.money import parse_usd
from proctor.kernel.sums import added
from proctor.kernel.words import counted
from proctor.sdk.client import Client, Prepared
from proctor.sdk.requests import RunRequest
from proctor.suites.service import StoredTask

__all__ = ["DryRun", "dry_run"]


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Cells and money before anything is spent. ``None`` is unknown; ``worst_case_nano`` covers one attempt a cell."""

    run_set: str
    existing: str | None
    moved: tuple[str, ...]
    expected: int
    decided: int
    reused: int
    owed: int
    """Cells that had an attempt and have no verdict."""
    new: int
    queued: int
    """Cells that would be worked on now; money and time are of these."""
    worst_case_nano: int | None
    expected_sec: float | None
    at_most_sec: float | None
    comparable: bool
    reasons: tuple[str, ...]
    malformed: tuple[str, ...]
    missing_secrets: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def dry_run(client: Client, prepared: Prepared, request: RunRequest) -> DryRun:
    """Resolve, rehearse and count; writes nothing but the imported suite."""
    rehearsal = client.rehearse(prepared, request)
    plan, wanted = prepared.resolved.plan, rehearsal.wanted
    slots, queued = prepared.spec.execution.concurrency, sum(wanted.values())
    judged = reasons_against(rehearsal.policy_version)
    reasons = (*judged, *client.reasons_before(prepared), *_gaps(prepared))
    mean = client.mean_seconds([profile.configuration for profile in plan.profiles])
    return DryRun(
        run_set=plan.name,
        existing=str(rehearsal.existing) if rehearsal.existing else None,
        moved=rehearsal.moved,
        expected=rehearsal.cells.expected,
        decided=rehearsal.cells.decided,
        reused=rehearsal.cells.reused,
        owed=rehearsal.cells.owed,
        new=rehearsal.cells.new,
        queued=queued,
        worst_case_nano=_worst_case(prepared, wanted),
        expected_sec=None if mean is None else mean * ceil(queued / slots),
        at_most_sec=_at_most(prepared, wanted, slots),
        comparable=not reasons,
        reasons=reasons,
        malformed=tuple(f"{task.name}: {problem}" for task in prepared.resolved.malformed for problem in task.problems),
        missing_secrets=prepared.missing_secrets,
        remarks=(*prepared.resolved.remarks, *client.too_large(prepared)),
    )


def _gaps(prepared: Prepared) -> Iterator[str]:
    """What is known before launch to have no verdict."""
    if count := len(prepared.resolved.malformed):
        yield f"coverage: {counted(count, 'malformed task')} can have no verdict"
    for profile in prepared.resolved.plan.profiles:
        for task in prepared.resolved.tasks:
            for reason in _obstacles(prepared, profile, task):
                yield f"coverage: {profile.name} can have no verdict on {task.name}: {reason}"
                break


def _obstacles(prepared: Prepared, profile: PlannedProfile, task: StoredTask) -> Iterator[str]:
    if task.task is None:
        return
    names = set(prepared.spec.secrets.names) - prepared.resolved.provider_keys
    yield from obstacles(task.task, profile.document, prepared.backend, secrets=names)


def _worst_case(prepared: Prepared, wanted: Mapping[CellKind, int]) -> int | None:
    """Each profile's ceiling for each of its cells, and no more than its budget or that of all; unknown without any."""
    cells = dict.fromkeys(range(len(prepared.spec.profiles)), 0)
    for kind, count in wanted.items():
        cells[kind.profile] += count
    profiles = (_profile_worst_case(prepared, position, count) for position, count in cells.items())
    return _lowest(added(*profiles), prepared.spec.budget.cost)


def _profile_worst_case(prepared: Prepared, position: int, cells: int) -> int | None:
    profile = prepared.spec.profiles[position]
    ceiling = prepared.resolved.worst_case_nano[profile.name]
    of_cells = 0 if not cells else None if ceiling is None else ceiling * cells
    return _lowest(of_cells, profile.budget)


def _lowest(nano: int | None, budget: str | None) -> int | None:
    """What is known is a bound; a budget is kept by the gateway, whatever was spent before."""
    known = [one for one in (nano, None if budget is None else parse_usd(budget)) if one is not None]
    return min(known, default=None)


def _at_most(prepared: Prepared, wanted: Mapping[CellKind, int], slots: int) -> float | None:
    """One attempt a cell, each as long as its limits allow; ``None`` where one has no limit.

    Whatever the order, slots that are never idle while work waits need no more than this (Graham 1966).
    """
    longest = {task.content_digest: task for task in prepared.resolved.tasks}
    total = most = 0.0
    for kind, cells in wanted.items():
        document = prepared.resolved.plan.profiles[kind.profile].document
        seconds = _attempt_at_most(longest[kind.content_digest], document)
        if seconds is None:
            return None
        total, most = total + seconds * cells, max(most, seconds)
    return total / slots + most * (1 - 1 / slots)


def _attempt_at_most(task: StoredTask, document: Mapping[str, Json]) -> float | None:
    if task.task is None:
        return 0.0
    total = SETUP_TIMEOUT_SEC
    for step in task.task.steps or (None,):
        terms = terms_of(task.task, document, step)
        if terms.agent_timeout_sec is None:
            return None
        total += terms.agent_timeout_sec + GRADINGS * terms.verifier_timeout_sec
    return total
