"""What is told of a job while it goes on: each change once, and chunks that are done about once a second."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from proctor.jobs import scorers
from proctor.jobs.values import Job, JobState
from tests.data.desk import Desk

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]


def told(desk: Desk, job: Job) -> list[tuple[str, dict[str, Any]]]:
    """Names and payloads, in the order in which they were written."""
    with desk.platform.database.tenant(desk.platform.tenant) as connection:
        query = text("SELECT name, payload FROM proctor.event WHERE subject = :job ORDER BY seq")
        return [(row.name, row.payload) for row in connection.execute(query, {"job": job.id})]


def advances(desk: Desk, job: Job) -> list[int]:
    """How many chunks were done each time that it was told."""
    return [payload["chunks_done"] for name, payload in told(desk, job) if name == "job.advanced"]


def test_a_job_of_many_chunks_is_told_of_once_a_second_and_at_its_ends(desk: Desk, small_chunks: None) -> None:
    desk.numbers(3000)
    job = desk.submit()
    began = time.monotonic()
    desk.work(job)
    seconds = time.monotonic() - began
    events = told(desk, job)
    names = [name for name, _ in events]
    assert (names[:2], names[-1]) == (["job.submitted", "job.started"], "job.complete")
    assert set(names[2:-1]) == {"job.advanced"}
    assert len(names[2:-1]) <= seconds + 2, "as many as seconds, and not as chunks"
    done = advances(desk, job)
    assert done == sorted(set(done))
    assert events[-1][1] == {"name": job.name, "state": "complete", "chunks": 300, "chunks_done": 300}


def test_chunks_that_came_within_a_second_are_told_of_though_no_other_comes(
    desk: Desk, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One chunk fails and waits: the others are all told of before it fails for good."""
    desk.numbers(50)
    job = desk.submit()
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.01, 4.0))
    monkeypatch.setattr(scorers, "PROGRAM", (f"{Path(__file__).with_name('dying_scorer.py')}",))
    assert desk.work(job).job.state is JobState.COMPLETE_WITH_GAPS
    assert advances(desk, job)[-1] == 4
    assert told(desk, job)[-1] == (
        "job.complete_with_gaps",
        {"name": job.name, "state": "complete_with_gaps", "chunks": 5, "chunks_done": 4},
    )


def test_whatever_is_done_with_a_job_is_told_each_time_that_it_changes_something(desk: Desk) -> None:
    desk.numbers(10)
    job = desk.submit()
    for act in (desk.service.pause, desk.service.pause, desk.service.resume, desk.service.resume):
        act(str(job.id))
    for act in (desk.service.cancel, desk.service.resume, desk.service.cancel):
        act(str(job.id))
    assert [(name, payload["state"]) for name, payload in told(desk, job)] == [
        ("job.submitted", "queued"),
        ("job.paused", "paused"),
        ("job.resumed", "queued"),
        ("job.cancelled", "cancelled"),
        ("job.resumed", "queued"),
        ("job.cancelled", "cancelled"),
    ]
