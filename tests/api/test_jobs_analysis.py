"""Analyses of jobs over HTTP: answered as the SDK has them, refused by name, and read by whoever may look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.analysis.power import Design
from proctor.app import Server
from proctor.identity.permissions import Role
from proctor.jobs.analyses.values import By
from proctor.sdk.analyses import JobAnalyses
from proctor.sdk.remote.analyses import RemoteAnalyses
from proctor.sdk.remote.errors import ServerRefused
from proctor.sdk.remote.transport import Transport
from tests.api.conftest import Tenant
from tests.data.desk import Desk

BY = ("exact-match", "contains", "edit-distance")


@pytest.fixture
def desk(acme: Tenant, server: Server, tmp_path: Path, clean_queue: None) -> Desk:
    """Two jobs over eight examples of two repeats."""
    from proctor.app import _of_tenant

    made = Desk(_of_tenant(server.settings, server.database, server.objects, acme.id), tmp_path)
    made.dataset([{"id": f"e{n}", "input": "?", "expected": "yes", "tags": [f"t{n % 2}"]} for n in range(8)])
    for name, right in (("new", 3), ("base", 6)):
        rows = [
            {"id": f"e{n}", "repeat": r, "output": "yes" if n + r < right else "yet"} for n in range(8) for r in (0, 1)
        ]
        made.outputs([*rows[:-1], {"id": "e7", "repeat": 1, "status": "refused"}], name=name)
        made.work(made.submit(*BY, samples=name, name=name))
    return made


@pytest.fixture
def far(acme: Tenant) -> RemoteAnalyses:
    return RemoteAnalyses(Transport("http://testserver", acme.owner_key, http=acme.http))  # type: ignore[arg-type]


CALLS: dict[str, Any] = {
    "compare": lambda to: to.compare("new", "base", evaluators=BY[:2], margin=0.1, alpha=0.01),
    "moved": lambda to: to.moved("new", "base", evaluator="exact-match", after=1, limit=2),
    "segments": lambda to: to.segments("new", By.TAG, evaluators=["exact-match"]),
    "failures": lambda to: to.failures("new", evaluator="contains"),
    "distribution": lambda to: to.distribution("new"),
    "repeats": lambda to: to.repeats("new", [1], evaluators=BY),
    "agreement": lambda to: to.agreement("new", evaluators=BY, level="ordinal", decimals=1),
    "history": lambda to: to.history(["new", "base"], alpha=0.05),
    "report": lambda to: to.report("new", "base"),
    "power": lambda to: to.power(Design(between=0.2, within_a=0.1, trials_a=2), difference=0.05, items=100),
}


def test_every_call_says_the_same_from_afar(desk: Desk, far: RemoteAnalyses) -> None:
    near = JobAnalyses(desk.platform)
    for name, call in CALLS.items():
        assert call(far) == call(near), name


def test_a_viewer_reads_them_and_names_are_checked(desk: Desk, acme: Tenant) -> None:
    viewer = acme.as_role(Role.VIEWER)
    told = viewer.get("jobs/new/comparison?against=base&evaluator=exact-match")
    assert told["evaluators"][0]["difference"]["worse"] == 4
    assert [one["example"] for one in viewer.get("jobs/new/moved?against=base&evaluator=exact-match")["items"]] == [
        "e3",
        "e4",
        "e2",
        "e5",
    ]
    for path, code, where in (
        ("jobs/new/comparison?against=new", "job-invalid", "against"),
        ("jobs/new/moved?against=base", "job-invalid", "evaluator"),
        ("jobs/new/segments?evaluator=bleu", "job-invalid", "evaluator"),
        ("jobs/new/repeats?k=2&evaluator=exact-match", "statistic-undefined", "trials"),
        ("jobs/new/agreement?level=mood", "job-invalid", "level"),
        ("job-history?job=new&evaluator=bleu", "job-invalid", "evaluator"),
        ("power", "statistic-undefined", "difference"),
    ):
        refused = viewer.get(path, 422)
        assert (refused["code"], refused["where"]) == (code, where), path
    for path in ("jobs/new/comparison", "jobs/new/comparison?against=base&margin=nan", "jobs/new/repeats?k=0"):
        assert viewer.get(path, 422)["code"] == "request-invalid", path


def test_a_refusal_comes_from_afar_as_it_is(desk: Desk, far: RemoteAnalyses) -> None:
    with pytest.raises(ServerRefused, match="with another one"):
        far.compare("new", "new")


def test_jobs_are_found_by_what_stands_in_their_names(desk: Desk, acme: Tenant) -> None:
    named = {words: [one["name"] for one in acme.owner.get(f"jobs?words={words}")["items"]] for words in ("BA", "%25")}
    assert named == {"BA": ["base"], "%25": []}
    assert [one.name for one in desk.evaluations.jobs(words="EW")] == ["new"]
    assert acme.owner.get("jobs?words=", 422)["where"] == "query.words"
