"""What each operation refuses, by the codes of the catalogue; what holds for many follows from what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Operation", "codes_of"]

_BY_PART: Mapping[str, str] = {
    "run_set": "run-set-unknown",
    "attempt": "attempt-unknown",
    "cell": "cell-unknown",
    "suite": "suite-unknown",
    "dataset": "dataset-unknown",
    "series": "series-unknown",
    "user": "user-unknown",
    "key": "key-unknown",
    "operation": "operation-unknown",
    "job": "job-unknown",
    "samples": "samples-unknown",
    "stream": "job-unknown",
    "tenant": "tenant-unknown",
    "evaluator": "evaluator-unknown",
    "prompt": "prompt-unknown",
}
"""By a part of the path that is looked up."""
_CONTROLS = ("run-set-ended", "run-set-imported")
_GRADES = ("operations-full", "suite-unknown", "run-set-file", "no-task-fits", "secret-missing")
_REFERENCES = ("run-set-unknown", "label-unknown", "comparison-reference")
_SUBMITS = (
    *("provider-unknown", "price-unknown", "providers-invalid", "models-extra"),
    *("suite-unknown", "label-unknown", "run-set-file", "profile-invalid", "sandbox-unknown", "secret-missing"),
    *("run-set-moved", "no-task-fits", "choice-conflict"),
)
_CONFIGURES = ("evaluator-type", "evaluator-configuration", "data-extra")
_JUDGES = (
    *("evaluator-configuration", "data-extra", "models-extra"),
    *("provider-unknown", "providers-invalid", "secret-missing"),
)
_LABELS = ("label-unknown",)
_COMPUTES = ("job-invalid", "scores-invalid", "statistic-undefined", "stats-extra", "data-extra")
_DATA = ("data-extra",)
_TRAJECTORIES = ("trajectory-invalid",)
_OWN: Mapping[str, tuple[str, ...]] = {
    "POST /setup": ("setup-done", "link", "name-taken", "tenant-name", "user-name"),
    "POST /session": ("unauthenticated", "origin"),
    "DELETE /session": ("origin",),
    "POST /users": ("name-taken", "user-name"),
    "PATCH /users/{user}": ("last-owner", "user-changed"),
    "POST /keys": ("user-unknown", "key-unknown", "key-refused", "scope"),
    "PUT /secrets/{name}": ("secret-value", "secret-name"),
    "DELETE /secrets/{name}": ("secret-unknown",),
    "DELETE /alerts/acknowledgements/{alert}": ("acknowledgement-unknown",),
    "POST /tenants": ("name-taken", "tenant-name", "user-name"),
    "GET /providers": ("providers-invalid",),
    "GET /usage": ("usage-time",),
    "GET /tenants/usage": ("usage-time",),
    "GET /spend": ("usage-time",),
    "GET /tenants/spend": ("usage-time",),
    "GET /spend/undecided": ("usage-time",),
    "GET /spend/entries": ("usage-time",),
    "POST /suites": ("suite-upload", "suite-alias"),
    "GET /datasets": _DATA,
    "GET /datasets/{dataset}": _DATA,
    "GET /datasets/{dataset}/versions": _DATA,
    "GET /datasets/{dataset}/facts": _DATA,
    "GET /datasets/{dataset}/examples": (*_DATA, "dataset-split", "dataset-query"),
    "GET /datasets/{dataset}/examples/count": (*_DATA, "dataset-split", "dataset-query"),
    "GET /datasets/{dataset}/quality": _DATA,
    "GET /datasets/{dataset}/diff": _DATA,
    "POST /datasets/imports": ("dataset-name", "dataset-version", "operations-full"),
    "POST /datasets/derivations": (
        *(*_DATA, "dataset-unknown", "dataset-name", "dataset-version", "dataset-query", "operations-full"),
    ),
    "POST /datasets/{dataset}/splits": (*_DATA, "dataset-split"),
    "POST /datasets/{dataset}/exports": (*_DATA, "operations-full"),
    "POST /samples": (*_DATA, "dataset-unknown", "operations-full"),
    "POST /jobs": (
        *("dataset-unknown", "samples-unknown", "evaluator-unknown", "evaluator-forbidden", "evaluator-outdated"),
        *("job-invalid", "evaluator-configuration", "data-extra", "stats-extra", "target-invalid"),
        *("prompt-unknown", "provider-unknown", "providers-invalid", "price-unknown", "models-extra"),
    ),
    "GET /jobs/{job}": _DATA,
    "POST /streams": (
        *("evaluator-unknown", "evaluator-forbidden", "evaluator-outdated", "evaluator-configuration"),
        *("stream-taken", "job-invalid", "data-extra"),
    ),
    "GET /streams/{stream}": ("stream-closed",),
    "GET /streams/{stream}/refusals": ("stream-closed",),
    "POST /streams/{stream}/close": ("stream-closed",),
    "POST /streams/{stream}/rows": (
        *("stream-closed", "rows-invalid", "stream-key-reused", "idempotency-key", "stream-busy", "data-extra"),
    ),
    "POST /sql": (*_DATA, "query-refused", "query-failed", "query-too-long", "job-unknown"),
    "GET /jobs/{job}/results": _DATA,
    **{
        f"GET /jobs/{{job}}/{what}": _COMPUTES
        for what in ("comparison", "moved", "segments", "failures", "distribution", "repeats", "agreement", "report")
    },
    "GET /job-history": ("job-unknown", *_COMPUTES),
    "GET /power": ("scores-invalid", "statistic-undefined"),
    "POST /jobs/{job}/pause": ("job-ended",),
    "POST /jobs/{job}/resume": ("job-ended",),
    "POST /jobs/{job}/cancel": ("job-ended",),
    "DELETE /jobs/{job}": ("job-running", "job-held"),
    "PUT /retention": ("retention-invalid",),
    "PUT /jobs/{job}/hold": ("job-invalid",),
    "DELETE /samples/{samples}": ("samples-used",),
    "POST /prompts": ("prompt-invalid", "target-invalid"),
    "POST /evaluators": ("evaluator-name", "evaluator-forbidden", "evaluators-full", *_CONFIGURES),
    "POST /evaluators/{evaluator}/trials": (
        "evaluator-forbidden",
        "evaluator-outdated",
        "evaluator-not-here",
        *_JUDGES,
    ),
    "PUT /tenants/{tenant}/evaluator-rules/{subject}": ("evaluator-unknown",),
    "PUT /labels/suites/{label}": ("suite-unknown", "suite-alias"),
    "PUT /labels/run-sets/{label}": ("run-set-unknown", "suite-alias"),
    "POST /run-sets": ("budget-used", "run-set-imported", *_SUBMITS),
    "POST /run-sets/rehearsal": _SUBMITS,
    "GET /run-sets/{run_set}/leaderboard": _LABELS,
    "POST /run-sets/{run_set}/leaderboard": (*_LABELS, "gate", "nothing-to-compare"),
    "GET /run-sets/{run_set}/cells": ("run-set-file", "no-task-fits"),
    "GET /run-sets/{run_set}/profiles": ("run-set-file",),
    "GET /run-sets/{run_set}/running": ("run-set-file",),
    "GET /run-sets/{run_set}/stalled": ("run-set-file",),
    "GET /run-sets/{run_set}/sides": ("run-set-file",),
    "POST /run-sets/{run_set}/resume": (
        "budget-used",
        "cell-unknown",
        "no-task-fits",
        "run-set-file",
        "run-set-imported",
        "run-set-stopped",
        "secret-missing",
    ),
    "POST /run-sets/{run_set}/pause": _CONTROLS,
    "POST /run-sets/{run_set}/cancel": _CONTROLS,
    "GET /references": _REFERENCES,
    "GET /comparisons": (*_REFERENCES, "nothing-to-compare"),
    "GET /comparisons/segments": (*_REFERENCES, "nothing-to-compare"),
    "GET /comparisons/tasks": (*_REFERENCES, "nothing-to-compare"),
    "DELETE /blocks/{scope}/{name}": ("not-blocked",),
    "GET /attempts/{attempt}/artifacts/{name}": ("artifact-unknown",),
    "GET /attempts/{attempt}/steps": _TRAJECTORIES,
    "GET /attempts/{attempt}/steps/index": _TRAJECTORIES,
    "GET /attempts/{attempt}/steps/find": _TRAJECTORIES,
    "GET /attempts/{attempt}/steps/{step}": ("step-unknown", *_TRAJECTORIES),
    "GET /events": ("topic", "cursor", "too-many-streams"),
    "GET /events/history": ("event-forgotten", "topic"),
    "GET /logs": ("run-set-unknown", "attempt-unknown", "user-unknown", "logs-wanted"),
    "POST /run-sets/{run_set}/exports": ("operations-full",),
    "POST /run-sets/{run_set}/regrade-plan": ("suite-unknown", "run-set-file", "no-task-fits"),
    "POST /run-sets/{run_set}/regrades": _GRADES,
    "POST /run-sets/{run_set}/reclassifications": ("operations-full", "outcome-policy"),
    "POST /audits": ("run-set-unknown", "audit-rules", "operations-full"),
    "POST /suites/{suite}/checks": ("nothing-to-check", "operations-full"),
    "POST /imports": ("suite-unknown", "operations-full"),
    "POST /pushes": ("suite-unknown", "push-contradicts"),
    "PUT /pushes/objects/{sha256}": ("push-contradicts",),
    "POST /pushes/{run_set}/cells": ("push-contradicts",),
    "POST /pushes/{run_set}/complete": ("push-contradicts",),
    "POST /operations/{operation}/cancel": ("operation-ended",),
    "GET /operations/{operation}/download": ("download-unknown",),
    "POST /operations/{operation}/download-link": ("download-unknown",),
    "GET /downloads/{link}": ("download-unknown",),
}
"""What only this operation refuses, and what is looked up by its query or its body."""
_NO_OPERATION = frozenset({"GET /operations/{operation}/download", "POST /operations/{operation}/download-link"})
"""Whatever is wrong with the operation, there is no such download."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of the document. ``path`` is below the prefix; ``repeatable``: it heeds an Idempotency-Key."""

    method: str
    path: str
    described: Mapping[str, Any]
    repeatable: bool
    lasting: bool
    """Whether it may take as long as it needs."""

    @property
    def name(self) -> str:
        """As the tables here name it."""
        return f"{self.method} {self.path}"

    @property
    def parameters(self) -> frozenset[str]:
        """The names of all."""
        return frozenset(one["name"] for one in self.described.get("parameters", ()))


def codes_of(operation: Operation) -> Iterator[str]:
    """Every code that it may answer with, each once for each reason."""
    if operation.described.get("security"):
        yield from ("unauthenticated", "forbidden")
    if operation.name not in _NO_OPERATION:
        parts = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
        yield from (_BY_PART[part] for part in parts if part in _BY_PART)
    yield from _OWN.get(operation.name, ())
    if operation.repeatable:
        yield from ("request-running", "idempotency-key", "idempotency-key-reused")
    if "requestBody" in operation.described:
        yield "too-large"
    if {"cursor", "fields"} <= operation.parameters:
        yield from ("cursor", "field-unknown")
    if operation.path not in ("/healthz", "/readyz"):
        yield from ("request-invalid", "parameter-unknown", "database-unavailable")
    yield from ("rate-limited", "own-fault")
    if not operation.lasting:
        yield "timeout"
