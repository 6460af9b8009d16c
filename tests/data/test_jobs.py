"""Evaluation jobs on a real database: cut, done once whoever dies, listed where they fail, told with their errors."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from proctor.analysis.errors import StatsExtraMissing
from proctor.evaluators.service import Registration
from proctor.identity.service import ensure_tenant
from proctor.jobs import scorers
from proctor.jobs.errors import JobEnded, JobInvalid, JobUnknown, SamplesInvalid, SamplesUnknown
from proctor.jobs.values import JobState
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.sdk.evaluations import OutputsTold
from tests.conftest import Urls
from tests.data.desk import Desk
from tests.data.programs import started

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]


# --- what comes of a job ----------------------------------------------------------------------------------------------


def test_a_job_judges_every_output_and_tells_mean_error_coverage_and_bounds(desk: Desk) -> None:
    desk.dataset([{"id": f"e{n}", "input": "x", "expected": "yes"} for n in range(10)])
    desk.outputs([{"id": f"e{n}", "output": "yes" if n < 6 else "no"} for n in range(8)])
    job = desk.submit("exact-match", "contains")
    assert (job.state, job.expected, job.done) == (JobState.QUEUED, 20, 0)
    standing = desk.work(job)
    assert standing.job.state is JobState.COMPLETE
    exact = standing.evaluators[0]
    assert (exact.evaluator, exact.scored, exact.expected) == ("exact-match", 8, 10)
    assert exact.counts == {"scored": 8, "invalid_example": 2}
    assert (exact.mean, exact.coverage) == (0.75, 0.8)
    assert exact.interval is not None
    assert (round(exact.interval.low, 4), round(exact.interval.high, 4)) == (0.4093, 0.9285)
    assert (exact.bounds.low, exact.bounds.high) == (0.6, 0.8)
    assert desk.events(job) == ["job.complete", "job.started", "job.submitted"]


def test_a_result_is_identified_by_columns_and_says_what_it_is_of(desk: Desk) -> None:
    desk.dataset([{"id": "a", "input": "1+1?", "expected": 2}])
    desk.outputs([{"id": "a", "output": 2.0, "model": "m-1"}])
    job = desk.submit()
    desk.work(job)
    (row,) = desk.rows(job)
    assert (row["example"], row["row"], row["repeat"], row["score"], row["status"]) == ("a", 0, 0, 1.0, "scored")
    assert (row["evaluator"], row["model"], row["job"]) == ("exact-match", "m-1", str(job.id))
    assert row["evaluator_version"] == desk.platform.evaluators.find(desk.platform.tenant, "exact-match").row.digest
    assert (row["trace_id"], row["cost_nano"]) == (job.trace_id, 0)
    assert len(row["sample"]) == 32


def test_repeats_are_results_of_their_own_and_the_error_is_clustered_by_example(desk: Desk) -> None:
    desk.dataset([{"id": f"e{n}", "input": "x", "expected": "yes"} for n in range(4)])
    passes = [2, 2, 0, 1]
    desk.outputs(
        [
            {"id": f"e{n}", "repeat": repeat, "output": "yes" if repeat < right else "no"}
            for n, right in enumerate(passes)
            for repeat in (1, 0)
        ]
    )
    job = desk.submit()
    (exact,) = desk.work(job).evaluators
    assert (exact.expected, exact.mean) == (8, 5 / 8)
    spread = sum((right - 2 * 5 / 8) ** 2 for right in passes)
    assert exact.error == pytest.approx(spread**0.5 / 8)
    assert [(row["row"], row["repeat"]) for row in desk.rows(job)] == [(n, r) for r in (0, 1) for n in range(4)]


def test_a_job_in_many_chunks_has_the_same_results_as_one_in_one(desk: Desk, small_chunks: None) -> None:
    desk.numbers(95)
    job = desk.submit("exact-match", "edit-distance")
    assert job.cut.chunks == 10
    standing = desk.work(job)
    assert (standing.job.chunks_done, standing.done) == (10, 190)
    rows = desk.rows(job)
    assert [row["row"] for row in rows] == [*range(95), *range(95)]
    assert [row["score"] for row in rows[95:]] == [float(n % 2 == 0) for n in range(95)] or rows[0]["evaluator"]
    by_name = {one.evaluator: one for one in standing.evaluators}
    assert by_name["exact-match"].mean == pytest.approx(48 / 95)


def test_what_an_example_lacks_is_told_by_row_and_reason_while_the_rest_goes_on(desk: Desk) -> None:
    desk.dataset([{"id": "a", "input": "x", "expected": "1"}, {"id": "b", "input": "x"}, {"id": "c", "input": "x"}])
    desk.outputs(
        [{"id": "a", "output": "1"}, {"id": "b", "output": "1"}, {"id": "c", "output": None, "status": "refused"}]
    )
    job = desk.submit("numeric")
    assert desk.work(job).job.state is JobState.COMPLETE
    assert [(row["row"], row["status"], row["score"]) for row in desk.rows(job)] == [
        (0, "scored", 1.0),
        (1, "invalid_example", None),
        (2, "refused", None),
    ]
    (row,) = desk.rows(job, status="invalid_example")
    assert "expected" in row["error"]


def test_outputs_are_judged_again_by_another_version_and_old_results_stay(desk: Desk) -> None:
    desk.dataset([{"id": "a", "input": "x", "expected": "Yes"}])
    desk.outputs([{"id": "a", "output": "yes"}])
    first = desk.submit()
    assert desk.work(first).evaluators[0].mean == 0.0
    said = Registration(name="loose", type="exact-match", configuration={"ignore_case": True})
    desk.platform.evaluators.register(desk.platform.tenant, said)
    again = desk.submit("loose")
    assert again.judges[0].name == "loose@1"
    assert desk.work(again).evaluators[0].mean == 1.0
    assert desk.rows(first)[0]["score"] == 0.0
    assert desk.rows(first)[0]["sample"] == desk.rows(again)[0]["sample"]


def test_how_long_an_evaluator_takes_is_measured_by_what_it_did(desk: Desk) -> None:
    desk.numbers(30)
    registry, tenant = desk.platform.evaluators, desk.platform.tenant
    assert registry.find(tenant, "bleu").row.latency_sec is None
    desk.work(desk.submit("bleu", "exact-match"))
    row = registry.find(tenant, "bleu").row
    assert row.evaluations == 30
    assert row.latency_sec is not None
    assert row.latency_sec > 0


# --- what can't be asked ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"id": "nobody", "output": "x"}], "row 1: the dataset version has no example 'nobody'"),
        ([{"id": "e0", "output": "x"}, {"id": "e0", "output": "y"}], "row 2: repeat: row 1 has repeat 0 of 'e0' too"),
        ([{"id": "e0", "output": "x", "repeat": -1}], "repeat: it must be a whole number from 0"),
        ([{"id": "e0", "output": "x", "repeat": 1000}], "whole number from 0 to 999"),
        ([{"id": "e0", "status": "sulks"}], "status: without an output it may be one of"),
        ([{"id": "e0", "output": "x", "status": "refused"}], "with one there is none"),
        ([{"output": "x"}], "id: it must be a text"),
        ([], "There is no output in it"),
    ],
)
def test_outputs_that_are_of_no_example_are_refused_and_nothing_is_kept(
    desk: Desk, rows: list[dict[str, Any]], words: str
) -> None:
    desk.dataset([{"id": "e0", "input": "x", "expected": "y"}])
    with pytest.raises(SamplesInvalid, match=words):
        desk.outputs(rows)
    assert desk.evaluations.sample_sets() == []


def test_rows_that_are_no_outputs_are_left_out_and_told_where_that_is_asked(desk: Desk) -> None:
    desk.numbers(3)
    file = desk.folder / "mixed.jsonl"
    lines = ['{"id": "e0", "output": "0"}', "{", '{"id": "nobody", "output": "x"}', '{"id": "e0", "output": "1"}']
    lines += ['{"id": "e1", "repeat": -1, "output": "1"}', '{"id": "e2", "output": "2"}']
    file.write_text("\n".join(lines) + "\n")
    told = OutputsTold(dataset="capitals", name="mixed", skip_malformed=True)
    kept, fresh = desk.evaluations.add_outputs(file, told)
    assert (kept.outputs, kept.left_out, fresh) == (2, 4, True)
    assert [(one.row, one.field) for one in kept.problems] == [(2, ""), (3, ""), (4, "repeat"), (5, "repeat")]
    assert desk.evaluations.samples("mixed") == kept
    standing = desk.work(desk.submit(samples="mixed"))
    assert standing.evaluators[0].counts == {"scored": 2, "invalid_example": 1}
    file.write_text("{\n")
    with pytest.raises(SamplesInvalid, match="no output"):
        desk.evaluations.add_outputs(file, told)


def test_the_same_outputs_are_kept_once(desk: Desk) -> None:
    desk.numbers(3)
    file = desk.folder / "outputs.jsonl"
    again, fresh = desk.evaluations.add_outputs(file, OutputsTold(dataset="capitals", name="outputs"))
    assert not fresh
    assert [one.id for one in desk.evaluations.sample_sets()] == [again.id]


def test_results_of_a_status_that_there_is_not_are_refused(desk: Desk) -> None:
    desk.numbers(3)
    job = desk.submit()
    with pytest.raises(JobInvalid, match="There is no status 'zzz'; there are scored, "):
        desk.rows(job, status="zzz")


def test_results_are_found_by_evaluator_and_score(desk: Desk) -> None:
    desk.numbers(12)
    job = desk.submit()
    desk.work(job)
    every = desk.rows(job)
    (name, *_) = sorted({row["evaluator"] for row in every})
    right = [row for row in every if row["score"] == 1]
    wrong = [row for row in every if row["score"] == 0]
    assert len(right) == len(wrong) == 6
    assert desk.rows(job, at_least=1.0) == right
    assert desk.rows(job, below=1.0) == wrong
    assert desk.rows(job, evaluator=name, at_least=0.0, below=0.5) == wrong
    assert desk.rows(job, evaluator="another") == []


def test_without_the_libraries_of_statistics_nothing_is_begun(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.numbers(3)
    monkeypatch.setattr("proctor.analysis.extras.find_spec", lambda name: None if name == "scipy" else name)
    with pytest.raises(StatsExtraMissing, match="scipy is missing"):
        desk.submit()
    assert desk.evaluations.jobs() == []


def test_a_job_names_what_it_lacks(desk: Desk) -> None:
    desk.numbers(3)
    desk.dataset([{"id": "z", "input": "z"}], name="other")
    with pytest.raises(SamplesUnknown):
        desk.submit(samples="none")
    with pytest.raises(JobInvalid, match="another dataset version"):
        desk.submit(dataset="other")
    with pytest.raises(JobInvalid, match="named twice"):
        desk.submit("exact-match", "exact-match")
    with pytest.raises(JobUnknown):
        desk.service.job("nothing")
    assert desk.evaluations.jobs() == []


def test_another_tenant_sees_nothing_of_it(desk: Desk, database: Any, objects: Any) -> None:
    desk.numbers(3)
    job = desk.submit()
    desk.work(job)
    stranger = Desk(
        type(desk.platform)(**{**desk.platform.__dict__, "tenant": ensure_tenant(database, f"t-{new_id().hex}")}),
        desk.folder,
    )
    assert stranger.evaluations.jobs() == []
    assert stranger.evaluations.sample_sets() == []
    with pytest.raises(JobUnknown):
        stranger.service.job(str(job.id))


# --- whoever dies -----------------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_leaves_chunks_that_another_does_once(
    desk: Desk, small_chunks: None, urls: Urls
) -> None:
    desk.numbers(200)
    job = desk.submit()
    process = started(desk, urls, "chunk_program", job=job.id)
    assert process.stdout is not None
    assert process.stdout.readline()  # a chunk was settled
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    standing = desk.work(job)
    assert standing.job.state is JobState.COMPLETE
    assert [row["row"] for row in desk.rows(job)] == list(range(200))
    assert standing.evaluators[0].counts == {"scored": 200}


def test_what_a_worker_wrote_after_its_lease_was_lost_counts_for_nothing(desk: Desk, small_chunks: None) -> None:
    desk.numbers(10)
    job = desk.submit()
    worker = desk.worker(job)
    orders = worker._claimer.claim(10, [])
    with desk.platform.database.scheduler() as connection:
        connection.execute(text("UPDATE proctor.queue_item SET lease_until = now() - interval '1 second'"))
    desk.platform.database.as_scheduler(lambda c: queue.reap(c))
    (batch,) = (scorers.score(order) for order in orders)
    ended = scorers.Ended(order=orders[0], batch=batch)
    worker._record(desk.platform.tenant, {orders[0].place.claim: ended})
    assert desk.service.job(str(job.id)).chunks_done == 0
    assert desk.rows(job) == []
    assert desk.work(job).done == 10


def test_a_process_that_dies_with_a_chunk_takes_no_other_along(
    desk: Desk, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk that kills its process is tried three times and then a gap; resumed without the cause, it is done."""
    desk.numbers(50)
    job = desk.submit()
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.01, 0.01))
    program = f"{Path(__file__).with_name('dying_scorer.py')}"
    monkeypatch.setattr(scorers, "PROGRAM", (program,))
    standing = desk.work(job)
    assert standing.job.state is JobState.COMPLETE_WITH_GAPS
    assert [(gap.chunk, gap.start, gap.stop, gap.reason) for gap in standing.gaps] == [
        (3, 30, 40, "Its process ended with -9.")
    ]
    assert standing.done == 40
    assert desk.events(job) == ["job.complete_with_gaps", "job.started", "job.submitted"]
    monkeypatch.undo()
    assert desk.service.resume(str(job.id)).state is JobState.RUNNING
    assert desk.work(job).job.state is JobState.COMPLETE
    assert [row["row"] for row in desk.rows(job)] == list(range(50))


def test_an_object_that_is_gone_is_a_gap_with_its_reason(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.numbers(5)
    job = desk.submit()
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.01, 0.01))
    for part in desk.evaluations.samples("outputs").parts:
        desk.platform.objects.delete(part.key)
    (gap,) = desk.work(job).gaps
    assert "ObjectMissing" in gap.reason


# --- pausing and the like ---------------------------------------------------------------------------------------------


def test_a_paused_job_waits_and_a_cancelled_one_keeps_what_it_has(desk: Desk, small_chunks: None) -> None:
    desk.numbers(60)
    job = desk.submit()
    assert desk.service.pause(str(job.id)).state is JobState.PAUSED
    desk.worker(job).run(lambda: False)
    assert desk.service.job(str(job.id)).chunks_done == 0
    assert desk.service.resume(str(job.id)).state is JobState.QUEUED
    settled = threading.Event()
    worker = desk.worker(job, processes=1)
    worker._on_settled = lambda _: (settled.set(), worker.stop())  # type: ignore[assignment,func-returns-value]
    worker.run(lambda: True)
    assert settled.is_set()
    cancelled = desk.service.cancel(str(job.id))
    assert cancelled.state is JobState.CANCELLED
    assert 0 < cancelled.chunks_done < 6
    assert len(desk.rows(job)) == 10 * cancelled.chunks_done
    with pytest.raises(JobEnded):
        desk.service.pause(str(job.id))
    assert desk.service.resume(str(job.id)).state is JobState.RUNNING
    assert desk.work(job).job.state is JobState.COMPLETE
    with pytest.raises(JobEnded):
        desk.service.resume(str(job.id))


# --- what nobody names ------------------------------------------------------------------------------------------------


def test_a_sweep_leaves_what_counts_and_takes_what_a_lost_claim_wrote(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.sdk import sweeping

    desk.numbers(1500)
    job = desk.submit()
    desk.work(job)
    tenant, objects = desk.platform.tenant, desk.platform.objects
    kept = set(objects.list(f"{tenant}/"))
    lost = f"{tenant}/results/{job.id}/{new_id()}.parquet"
    left = f"{tenant}/samples/{new_id()}/{new_id()}/00000.parquet"
    for key in (lost, left):
        objects.put(key, b"x")
    monkeypatch.setattr(sweeping, "UNNAMED_AGE", sweeping.timedelta(0))
    unnamed = sweeping._Unnamed(desk.platform.database, objects, sweeping.timedelta(0))
    found = {item.key: kind for kind, item in unnamed.of(tenant, lambda _: None)}
    assert found == {lost: "results", left: "samples"}
    assert len(kept) == 3
