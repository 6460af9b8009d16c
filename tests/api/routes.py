"""Every route of the API, and how a test asks it: a route without an entry here fails the tests.

``{thing}`` in a path is one of the things that the world of the isolation suite has; a body may name things too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute

from proctor.api.app import ROUTERS
from proctor.api.dashboard import Dashboard

OPEN: dict[str, str] = {
    "GET /healthz": "a supervisor has no key",
    "GET /readyz": "a supervisor has no key",
    "POST /api/v1/setup": "there is no key yet; the one-time link's token is asked for",
    "POST /api/v1/session": "it is how a browser says its key",
    "DELETE /api/v1/session": "who is not signed in may say so",
    "GET /api/v1/downloads/{link}": "a browser fetches it: the link is signed, names one download, and runs out",
}


@dataclass(frozen=True)
class Probe:
    """How a route is asked for a thing. ``things``: path parameters and what of the world they name."""

    things: dict[str, str] = field(default_factory=dict)
    body: Any = None
    query: str = ""


_RUN_SET = {"run_set": "run_set"}
_ATTEMPT = {"attempt": "attempt"}
_OPERATION = {"operation": "operation"}
_DATASET = {"dataset": "dataset"}
_JOB = {"job": "job"}
_STREAM = {"stream": "stream"}

PUSH: dict[str, Any] = {
    "name": "x",
    "source": "0" * 32,
    "suite": "{suite}",
    "policy_version": "outcomes-1",
    "spec": {"name": "x", "suite": "y", "profiles": [{"name": "a", "agent": "noop"}]},
    "profiles": [{"name": "a", "series": "a", "provider": "", "document": {}}],
}
CELL: dict[str, Any] = {"profile": "a", "task": "0" * 64, "place": 1, "attempts": []}

PROBES: dict[str, Probe] = {
    "GET /metrics": Probe(),
    "GET /api/v1/health/samples": Probe(query="range=24h"),
    "GET /api/v1/health/objective": Probe(query="range=24h"),
    "GET /api/v1/health/backups": Probe(),
    "GET /api/v1/me": Probe(),
    "GET /api/v1/users": Probe(),
    "POST /api/v1/users": Probe(body={"name": "new@example.org", "role": "viewer"}),
    "GET /api/v1/users/{user}": Probe({"user": "user"}),
    "PATCH /api/v1/users/{user}": Probe({"user": "user"}, {"role": "viewer"}),
    "GET /api/v1/keys": Probe(),
    "POST /api/v1/keys": Probe(body={"name": "new", "user": "{user}"}),
    "POST /api/v1/keys/{key}/rotate": Probe({"key": "key"}, {}),
    "DELETE /api/v1/keys/{key}": Probe({"key": "key"}),
    "GET /api/v1/secrets": Probe(),
    "PUT /api/v1/secrets/{name}": Probe({"name": "secret"}, {"value": ""}),
    "DELETE /api/v1/secrets/{name}": Probe({"name": "secret"}),
    "GET /api/v1/alerts/acknowledgements": Probe(),
    "PUT /api/v1/alerts/acknowledgements/{alert}": Probe({"alert": "alert"}, {"hours": 0}),
    "DELETE /api/v1/alerts/acknowledgements/{alert}": Probe({"alert": "alert"}),
    "GET /api/v1/tenants": Probe(),
    "GET /api/v1/tenants/usage": Probe(),
    "GET /api/v1/tenants/spend": Probe(),
    "POST /api/v1/tenants": Probe(body={"name": "another", "owner": "o@example.org"}),
    "GET /api/v1/tenants/{tenant}/quota": Probe({"tenant": "tenant"}),
    "PUT /api/v1/tenants/{tenant}/quota": Probe({"tenant": "tenant"}, {}),
    "PUT /api/v1/budget": Probe(body={"month_nano": 1}),
    "GET /api/v1/user-budgets": Probe(),
    "GET /api/v1/users/{user}/budget": Probe({"user": "user"}),
    "PUT /api/v1/users/{user}/budget": Probe({"user": "user"}, {"month_nano": 1}),
    "GET /api/v1/allowance": Probe(),
    "GET /api/v1/usage": Probe(),
    "GET /api/v1/ledger": Probe(),
    "GET /api/v1/spend": Probe(),
    "GET /api/v1/spend/undecided": Probe(),
    "GET /api/v1/spend/entries": Probe(),
    "GET /api/v1/spend/month": Probe(),
    "GET /api/v1/agents": Probe(),
    "GET /api/v1/providers": Probe(),
    "GET /api/v1/audit-log": Probe(),
    "GET /api/v1/suites": Probe(),
    "GET /api/v1/suites/{suite}": Probe({"suite": "suite"}),
    "GET /api/v1/suites/{suite}/certificates": Probe({"suite": "suite"}),
    "GET /api/v1/suites/{suite}/leaderboard": Probe({"suite": "suite"}),
    "GET /api/v1/prompts": Probe(),
    "POST /api/v1/prompts": Probe(body={"name": "short", "prompt": "{{input}}"}),
    "GET /api/v1/prompts/{prompt}": Probe({"prompt": "prompt"}),
    "GET /api/v1/evaluators": Probe(),
    "POST /api/v1/evaluators": Probe(body={"name": "bleu", "type": "bleu"}),
    "POST /api/v1/evaluators/suggestions": Probe(body={"number": 1}),
    "GET /api/v1/evaluators/{evaluator}": Probe({"evaluator": "evaluator"}),
    "POST /api/v1/evaluators/{evaluator}/trials": Probe({"evaluator": "evaluator"}, {"output": ""}),
    "GET /api/v1/tenants/{tenant}/evaluator-rules": Probe({"tenant": "tenant"}),
    "PUT /api/v1/tenants/{tenant}/evaluator-rules/{subject}": Probe(
        {"tenant": "tenant", "subject": "evaluator"}, {"allowed": None}
    ),
    "GET /api/v1/datasets": Probe(),
    "GET /api/v1/datasets/{dataset}": Probe(_DATASET),
    "GET /api/v1/datasets/{dataset}/versions": Probe(_DATASET),
    "GET /api/v1/datasets/{dataset}/facts": Probe(_DATASET),
    "GET /api/v1/datasets/{dataset}/examples": Probe(_DATASET),
    "GET /api/v1/datasets/{dataset}/examples/count": Probe(_DATASET),
    "GET /api/v1/datasets/{dataset}/quality": Probe(_DATASET),
    "GET /api/v1/datasets/{dataset}/diff": Probe(_DATASET, query="against={dataset}"),
    "POST /api/v1/datasets/imports": Probe(query="name=x&format=jsonl&file=x.jsonl"),
    "POST /api/v1/datasets/derivations": Probe(
        body={"new": {"dataset": "x"}, "derivation": {"operation": "dedupe", "source": "{dataset}"}}
    ),
    "POST /api/v1/datasets/{dataset}/splits": Probe(_DATASET, {"shares": {"test": 0.5}, "seed": 1}),
    "POST /api/v1/datasets/{dataset}/exports": Probe(_DATASET, {"format": "jsonl"}),
    "GET /api/v1/samples": Probe(),
    "POST /api/v1/samples": Probe(query="dataset={dataset}&name=x&file=x.jsonl"),
    "GET /api/v1/samples/{samples}": Probe({"samples": "samples"}),
    "GET /api/v1/jobs": Probe(),
    "POST /api/v1/jobs": Probe(body={"dataset": "{dataset}", "samples": "{samples}", "evaluators": ["exact-match"]}),
    "GET /api/v1/jobs/{job}": Probe(_JOB),
    "GET /api/v1/jobs/{job}/results": Probe(_JOB),
    "GET /api/v1/jobs/{job}/comparison": Probe(_JOB, query="against={other_job}"),
    "GET /api/v1/jobs/{job}/moved": Probe(_JOB, query="against={other_job}"),
    "GET /api/v1/jobs/{job}/segments": Probe(_JOB),
    "GET /api/v1/jobs/{job}/failures": Probe(_JOB),
    "GET /api/v1/jobs/{job}/distribution": Probe(_JOB),
    "GET /api/v1/jobs/{job}/repeats": Probe(_JOB),
    "GET /api/v1/jobs/{job}/agreement": Probe(_JOB),
    "GET /api/v1/jobs/{job}/report": Probe(_JOB, query="against={other_job}"),
    "GET /api/v1/job-history": Probe(query="job={job}"),
    "GET /api/v1/power": Probe(query="difference=0.03"),
    "POST /api/v1/jobs/{job}/pause": Probe(_JOB),
    "POST /api/v1/jobs/{job}/resume": Probe(_JOB),
    "POST /api/v1/jobs/{job}/cancel": Probe(_JOB),
    "DELETE /api/v1/jobs/{job}": Probe(_JOB),
    "PUT /api/v1/jobs/{job}/hold": Probe(_JOB, {"reason": "x"}),
    "GET /api/v1/retention": Probe(),
    "POST /api/v1/streams": Probe(body={"name": "x", "evaluators": ["exact-match"]}),
    "GET /api/v1/streams/{stream}": Probe(_STREAM),
    "GET /api/v1/streams/{stream}/refusals": Probe(_STREAM),
    "POST /api/v1/streams/{stream}/rows": Probe(_STREAM, {"id": "x", "output": "y"}),
    "POST /api/v1/streams/{stream}/close": Probe(_STREAM),
    "PUT /api/v1/retention": Probe(body={"result_days": 30, "rollup_days": 365}),
    "DELETE /api/v1/jobs/{job}/hold": Probe(_JOB),
    "DELETE /api/v1/samples/{samples}": Probe({"samples": "samples"}),
    "POST /api/v1/sql": Probe(body={"sql": "SELECT 1 AS one"}),
    "GET /api/v1/labels/suites": Probe(),
    "PUT /api/v1/labels/suites/{label}": Probe({"label": "suite_label"}, {"suite": "{suite}"}),
    "GET /api/v1/run-sets": Probe(),
    "GET /api/v1/run-sets/{run_set}": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/leaderboard": Probe(_RUN_SET),
    "POST /api/v1/run-sets/{run_set}/leaderboard": Probe(_RUN_SET, {}),
    "GET /api/v1/run-sets/{run_set}/sides": Probe(_RUN_SET),
    "POST /api/v1/run-sets": Probe(
        body={
            "spec": {"name": "x", "suite": "{suite}", "profiles": [{"name": "a", "agent": "noop"}]},
            "spec_digest": "0" * 64,
        }
    ),
    "POST /api/v1/run-sets/{run_set}/resume": Probe(_RUN_SET),
    "GET /api/v1/references": Probe(query="reference={run_set}"),
    "DELETE /api/v1/blocks/{scope}/{name}": Probe({"scope": "scope", "name": "provider"}),
    "POST /api/v1/suites": Probe(query="label=x"),
    "GET /api/v1/run-sets/{run_set}/cells": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/cells/{cell}": Probe({**_RUN_SET, "cell": "cell"}),
    "GET /api/v1/run-sets/{run_set}/matrix": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/matrix/ids": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/profiles": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/running": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/stalled": Probe(_RUN_SET),
    "GET /api/v1/run-sets/{run_set}/gate": Probe(_RUN_SET),
    "POST /api/v1/run-sets/{run_set}/pause": Probe(_RUN_SET),
    "POST /api/v1/run-sets/{run_set}/cancel": Probe(_RUN_SET),
    "POST /api/v1/run-sets/rehearsal": Probe(
        body={
            "spec": {"name": "x", "suite": "{suite}", "profiles": [{"name": "a", "agent": "noop"}]},
            "spec_digest": "0" * 64,
        }
    ),
    "POST /api/v1/run-sets/{run_set}/exports": Probe(_RUN_SET, {}),
    "POST /api/v1/run-sets/{run_set}/regrade-plan": Probe(_RUN_SET, {"suite": "{suite}"}),
    "POST /api/v1/run-sets/{run_set}/regrades": Probe(_RUN_SET, {"recheck": True}),
    "POST /api/v1/run-sets/{run_set}/reclassifications": Probe(_RUN_SET, {"policy": "x"}),
    "POST /api/v1/audits": Probe(body={"run_set": "{run_set}"}),
    "POST /api/v1/suites/{suite}/checks": Probe({"suite": "suite"}, {}),
    "POST /api/v1/imports": Probe(query="suite={suite}"),
    "POST /api/v1/pushes": Probe(body=PUSH),
    "POST /api/v1/pushes/objects": Probe(body={"sha256": ["0" * 64]}),
    "PUT /api/v1/pushes/objects/{sha256}": Probe({"sha256": "digest"}),
    "POST /api/v1/pushes/{run_set}/cells": Probe(_RUN_SET, {"cells": [CELL]}),
    "POST /api/v1/pushes/{run_set}/complete": Probe(_RUN_SET),
    "GET /api/v1/operations": Probe(),
    "GET /api/v1/operations/{operation}": Probe(_OPERATION),
    "POST /api/v1/operations/{operation}/cancel": Probe(_OPERATION),
    "GET /api/v1/operations/{operation}/download": Probe(_OPERATION),
    "POST /api/v1/operations/{operation}/download-link": Probe(_OPERATION, {}),
    "GET /api/v1/series/{series}/history": Probe({"series": "series"}),
    "GET /api/v1/comparisons": Probe(query="side={run_set}:planted-profile&side={run_set}:planted-other"),
    "GET /api/v1/comparisons/segments": Probe(query="base={run_set}:planted-profile&with={run_set}:planted-other"),
    "GET /api/v1/comparisons/tasks": Probe(query="base={run_set}:planted-profile&with={run_set}:planted-other"),
    "GET /api/v1/labels/run-sets": Probe(),
    "PUT /api/v1/labels/run-sets/{label}": Probe({"label": "run_set_label"}, {"run_set": "{run_set}"}),
    "GET /api/v1/events": Probe(query="wait=0&after=0"),
    "GET /api/v1/events/history": Probe(),
    "GET /api/v1/logs": Probe(query="run_set={run_set}&attempt={attempt}"),
    "GET /api/v1/attempts/{attempt}": Probe(_ATTEMPT),
    "GET /api/v1/attempts/{attempt}/log": Probe(_ATTEMPT),
    "GET /api/v1/attempts/{attempt}/trajectory": Probe(_ATTEMPT),
    "GET /api/v1/attempts/{attempt}/steps": Probe(_ATTEMPT),
    "GET /api/v1/attempts/{attempt}/steps/index": Probe(_ATTEMPT),
    "GET /api/v1/attempts/{attempt}/steps/find": Probe(_ATTEMPT, query="text=the"),
    "GET /api/v1/attempts/{attempt}/steps/{step}": Probe({**_ATTEMPT, "step": "step"}),
    "GET /api/v1/attempts/{attempt}/artifacts/{name}": Probe({**_ATTEMPT, "name": "artifact"}),
}


SOCKETS: tuple[str, ...] = ("/ws",)
"""WebSockets; tests/api/test_live.py asks them."""


def sockets_of() -> list[tuple[str, APIWebSocketRoute]]:
    """Each WebSocket's path and route."""
    return [
        (f"{prefix}{route.path}", route)
        for prefix, router in ROUTERS
        for route in router.routes
        if isinstance(route, APIWebSocketRoute)
    ]


def routes_of(app: FastAPI) -> list[tuple[str, APIRoute]]:
    """Each route's method and path, as the tables here name it.

    Nothing is served beside them but the dashboard's files, which are everybody's: tests/api/test_dashboard.py.
    """
    found = [
        (f"{method} {prefix}{route.path.replace(':path', '')}", route)
        for prefix, router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods)
    ]
    assert len(app.routes) == len(ROUTERS) + 1, "beside the routers there is the OpenAPI document alone"
    assert type(app.router.default) is Dashboard, "and what no route answers is a file of the dashboard's"
    assert all(isinstance(route, APIRoute | APIWebSocketRoute) for _, router in ROUTERS for route in router.routes)
    served = {f"{method.upper()} {path}" for path, item in app.openapi()["paths"].items() for method in item}
    assert {name for name, _ in found} == served
    return found
