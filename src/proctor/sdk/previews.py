"""What starting a run would take: the answer of ``--dry-run``."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.engine.service import fitting
from proctor.kernel.words import counted
from proctor.sdk.client import Client, Prepared
from proctor.sdk.requests import RunRequest

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
    new: int
    worst_case_nano: int | None
    expected_sec: float | None
    at_most_sec: float
    comparable: bool
    reasons: tuple[str, ...]
    malformed: tuple[str, ...]
    missing_secrets: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def dry_run(client: Client, prepared: Prepared, request: RunRequest) -> DryRun:
    """Resolve and count; writes nothing but the imported suite."""
    found, moved, preview = client.preview(prepared)
    plan = prepared.resolved.plan
    fresh_start = found is None or request.fresh or (bool(moved) and not request.go_on)
    work = preview.owed + preview.new
    reasons = (*prepared.resolved.reasons, *_gaps(prepared))
    tasks = prepared.resolved.tasks if request.task is None else fitting(prepared.resolved.tasks, request.task)
    slots = prepared.spec.execution.concurrency
    at_most = sum(_timeout(task.content_digest, prepared) for task in tasks) * plan.trials * len(plan.profiles) / slots
    mean = client.mean_seconds([profile.configuration for profile in plan.profiles])
    return DryRun(
        run_set=plan.name,
        existing=str(found.id) if found else None,
        moved=tuple(moved),
        expected=plan.trials * len(plan.profiles) * len(plan.tasks),
        decided=preview.decided,
        reused=preview.decided if fresh_start else 0,
        owed=preview.owed,
        new=preview.new,
        worst_case_nano=_worst_case(prepared, work),
        expected_sec=None if mean is None else mean * work / slots,
        at_most_sec=at_most,
        comparable=not reasons,
        reasons=reasons,
        malformed=tuple(f"{task.name}: {task.problems[0]}" for task in prepared.resolved.malformed),
        missing_secrets=prepared.missing_secrets,
        remarks=prepared.resolved.remarks,
    )


def _gaps(prepared: Prepared) -> tuple[str, ...]:
    count = len(prepared.resolved.malformed)
    return (f"coverage: {counted(count, 'malformed task')} can have no verdict",) if count else ()


def _timeout(content_digest: str, prepared: Prepared) -> float:
    by_digest = {task.content_digest: task.expected_sec for task in prepared.resolved.plan.tasks}
    return by_digest[content_digest]


def _worst_case(prepared: Prepared, work: int) -> int | None:
    """The dearest profile's ceiling for every cell to be run; unknown where one profile's is."""
    costs = list(prepared.resolved.worst_case_nano.values())
    if any(cost is None for cost in costs):
        return None
    return max((cost for cost in costs if cost is not None), default=0) * work
