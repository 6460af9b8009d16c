"""Evaluation jobs in the live streams: followed as run sets are, and by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.app import Server, _of_tenant
from proctor.jobs.values import Job
from tests.api.conftest import Tenant
from tests.api.listening import Live, Socket, relaying, serving
from tests.data.desk import Desk


@pytest.fixture
def live(server: Server) -> Iterator[Live]:
    with relaying(server), serving(server) as found:
        yield found


@pytest.fixture
def desk(acme: Tenant, server: Server, tmp_path: Path, clean_queue: None, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A dataset of which a job makes five chunks."""
    monkeypatch.setattr("proctor.sdk.evaluation_requests.chunk_rows", lambda _seconds: 10)
    made = Desk(_of_tenant(server.settings, server.database, server.objects, acme.id), tmp_path)
    made.numbers(50)
    return made


def topic(job: Job) -> str:
    return f"job:{job.id}"


def until(heard: Socket, name: str) -> list[dict[str, Any]]:
    """Events up to one of that name."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["name"] != name:
        found.append(heard.hear()["event"])
    return found


def test_a_job_is_followed_to_its_end(live: Live, acme: Tenant, desk: Desk) -> None:
    job, other = desk.submit(), desk.submit(name="other")
    with live.socket(acme.owner_key) as ws, live.sse(acme.owner_key, f"?topic={topic(job)}") as stream:
        stream.block()
        assert ws.subscribe(topic(job))["subscribed"] == [topic(job)]
        desk.service.cancel(str(other.id))
        desk.work(job)
        events = until(ws, "job.complete")
        assert stream.ids(len(events)) == [event["id"] for event in events]
    assert {event["subject"] for event in events} == {str(job.id)}, "of the other job nothing"
    names = [event["name"] for event in events if event["name"] != "job.submitted"]
    assert (names[0], names[-1]) == ("job.started", "job.complete")
    assert set(names[1:-1]) <= {"job.advanced"}
    assert events[-1]["payload"] == {"name": job.name, "state": "complete", "chunks": 5, "chunks_done": 5}
    assert events[-1]["trace_id"] == job.trace_id
    kept = acme.owner.get(f"events/history?topic={topic(job)}&name=job.complete")["items"]
    assert [one["id"] for one in kept] == [events[-1]["id"]]


def test_whatever_happens_to_jobs_is_among_everything(live: Live, acme: Tenant, desk: Desk) -> None:
    with live.socket(acme.owner_key) as ws:
        ws.subscribe("all")
        job = desk.submit()
        acme.owner.post(f"jobs/{job.id}/pause", code=200)
        assert [event["name"] for event in until(ws, "job.paused")] == ["job.submitted", "job.paused"]


def test_of_a_neighbours_job_nothing_comes(live: Live, acme: Tenant, rival: Tenant, desk: Desk) -> None:
    job = desk.submit()
    with live.socket(rival.owner_key) as ws:
        ws.subscribe("all", topic(job), after="0")
        desk.work(job)
        own = live.emit(rival.id, job.id)
        assert ws.ids(1) == [own], "an id alone opens nothing"
    assert [one["id"] for one in rival.owner.get(f"events/history?topic={topic(job)}")["items"]] == []
