"""Jobs and outputs that are deleted by name leave nothing but a record; what is held is not removed by anything."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.jobs.deleting import JobKeeper
from proctor.jobs.errors import JobEnded, JobHeld, JobInvalid, JobRunning, JobUnknown, SamplesUnknown, SamplesUsed
from proctor.jobs.values import Job, JobState
from proctor.objects.store import ObjectStore
from proctor.results.merging import Merger, MergeRule
from proctor.sdk import evaluation_requests
from tests.data.desk import Desk

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

SOMEBODY = UUID("01a22e2c-a2fa-78c5-aaf7-00000000000a")
MANY = 1200
"""Rows of a batch that is an object."""


def objects_of(desk: Desk, kind: str = "results") -> list[str]:
    return list(desk.platform.objects.list(f"{desk.platform.tenant}/{kind}/"))


def batches(desk: Desk, job: Job) -> list[tuple[str, bool]]:
    with desk.platform.database.tenant(desk.platform.tenant) as connection:
        query = text("SELECT state, held FROM proctor.result_batch WHERE job_id = :job ORDER BY state")
        return [(row.state, row.held) for row in connection.execute(query, {"job": job.id})]


def queued(desk: Desk) -> int:
    with desk.platform.database.tenant(desk.platform.tenant) as connection:
        return int(connection.execute(text("SELECT count(*) FROM proctor.queue_item")).scalar_one())


def merger(desk: Desk) -> Merger:
    platform = desk.platform
    return Merger(platform.database, platform.objects, platform.tenant, desk.folder, MergeRule(rested_sec=0.0))


def judged(desk: Desk, count: int = MANY) -> Job:
    desk.numbers(count)
    return desk.work(desk.submit()).job


# --- deletion ---------------------------------------------------------------------------------------------------------


def test_a_deleted_job_leaves_a_record_and_no_result(desk: Desk) -> None:
    job = judged(desk)
    assert objects_of(desk)
    gone = desk.evaluations.delete("outputs", by=SOMEBODY)
    assert (gone.id, gone.state, gone.counts) == (job.id, JobState.DELETED, job.counts)
    assert gone.deletion is not None
    assert (gone.deletion.by, gone.ended_at) == (SOMEBODY, job.ended_at)
    assert (objects_of(desk), queued(desk), batches(desk, job)) == ([], 0, [("deleted", False)])
    assert desk.rows(gone) == []
    assert "job.deleted" in desk.events(job)

    with pytest.raises(JobUnknown):
        desk.evaluations.job("outputs")
    assert desk.evaluations.job(str(job.id)) == gone
    assert desk.evaluations.jobs() == []
    assert desk.evaluations.jobs(state=JobState.DELETED) == [gone]
    assert desk.evaluations.delete(str(job.id)) == gone
    for change in (desk.evaluations.pause, desk.evaluations.resume, desk.evaluations.cancel):
        with pytest.raises(JobEnded):
            change(str(job.id))


def test_another_job_keeps_what_it_has(desk: Desk) -> None:
    job = judged(desk)
    other = desk.work(desk.submit("exact-match", name="other")).job
    desk.evaluations.delete(str(job.id))
    assert len(desk.rows(other)) == MANY
    assert {key.split("/")[2] for key in objects_of(desk)} == {str(other.id)}


def test_a_job_is_deleted_when_it_has_ended_and_not_before(desk: Desk, small_chunks: None) -> None:
    desk.numbers(40)
    job = desk.submit()
    with pytest.raises(JobRunning):
        desk.evaluations.delete("outputs")
    desk.evaluations.pause("outputs")
    with pytest.raises(JobRunning):
        desk.evaluations.delete("outputs")
    desk.evaluations.cancel("outputs")
    desk.evaluations.delete("outputs")
    assert (queued(desk), batches(desk, job)) == (0, [])


def test_a_chunk_that_is_under_way_keeps_a_cancelled_job_from_being_deleted(desk: Desk, small_chunks: None) -> None:
    desk.numbers(40)
    job = desk.submit()
    worker = desk.worker(job)
    worker._claim(1)
    desk.evaluations.cancel("outputs")
    with pytest.raises(JobRunning):
        desk.evaluations.delete("outputs")
    worker._settle(worker._gathered(None))
    worker._scorers.close()
    desk.evaluations.delete(str(job.id))
    assert (queued(desk), desk.rows(job)) == (0, [])


def test_dead_letters_go_with_their_job(desk: Desk, small_chunks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.0, 0.0, 0.0))
    desk.numbers(20)
    job = desk.submit()
    for part in desk.evaluations.samples("outputs").parts:
        desk.platform.objects.delete(part.key)
    assert desk.work(job).job.state is JobState.COMPLETE_WITH_GAPS
    assert queued(desk) == 2
    desk.evaluations.delete("outputs")
    assert queued(desk) == 0


class Dying(ObjectStore):
    """A store whose process dies before it removes anything."""

    def delete(self, key: str) -> None:
        raise KeyboardInterrupt(key)


def test_a_deletion_that_was_killed_shows_nothing_and_is_finished_by_the_same_or_by_the_server(desk: Desk) -> None:
    platform = desk.platform
    dying = JobKeeper(platform.database, Dying(platform.objects.root), platform.tenant)
    for finish in (lambda job: desk.evaluations.delete(str(job.id)), lambda _: merger(desk).remove(after_sec=0)):
        job = judged(desk)
        with pytest.raises(KeyboardInterrupt):
            dying.delete(str(job.id))
        assert (desk.rows(job), len(objects_of(desk))) == ([], 1)
        finish(job)
        assert (objects_of(desk), batches(desk, job)) == ([], [("deleted", False)])


def test_what_is_merged_while_its_job_is_deleted_counts_for_nothing_and_stays_nowhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.numbers(MANY)
    monkeypatch.setattr("proctor.sdk.evaluation_requests.chunk_rows", lambda _seconds: MANY // 2)
    job = desk.work(desk.submit()).job
    found, write = merger(desk), Merger._written

    def written(self: Merger, *given: object) -> object:
        made = write(self, *given)  # type: ignore[arg-type]
        desk.evaluations.delete(str(job.id))
        return made

    monkeypatch.setattr(Merger, "_written", written)
    assert found.merge() == 0
    assert (objects_of(desk), desk.rows(job)) == ([], [])


# --- outputs ----------------------------------------------------------------------------------------------------------


def test_outputs_are_deleted_when_no_job_refers_to_them(desk: Desk) -> None:
    job = judged(desk, 10)
    with pytest.raises(SamplesUsed, match="outputs"):
        desk.evaluations.delete_samples("outputs")
    desk.evaluations.delete(str(job.id))
    kept = desk.evaluations.samples("outputs")
    assert objects_of(desk, "samples")
    assert desk.evaluations.delete_samples("outputs") == kept
    assert objects_of(desk, "samples") == []
    for gone in (desk.evaluations.samples, desk.evaluations.delete_samples):
        with pytest.raises(SamplesUnknown):
            gone("outputs")


def test_outputs_that_are_deleted_while_a_job_is_submitted_are_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.numbers(10)
    resolved = evaluation_requests.resolved

    def deleting(*given: object) -> object:
        found = resolved(*given)  # type: ignore[arg-type]
        desk.evaluations.delete_samples("outputs")
        return found

    monkeypatch.setattr(evaluation_requests, "resolved", deleting)
    with pytest.raises(SamplesUnknown):
        desk.submit()
    assert (queued(desk), desk.evaluations.jobs()) == (0, [])


# --- legal holds ------------------------------------------------------------------------------------------------------


def test_what_is_held_is_removed_by_nothing_until_it_is_released(desk: Desk) -> None:
    job = judged(desk)
    held = desk.evaluations.hold("outputs", " case 7 ", by=SOMEBODY)
    assert held.hold is not None
    assert (held.hold.reason, held.hold.by) == ("case 7", SOMEBODY)
    assert desk.evaluations.hold("outputs", "another").hold == held.hold
    assert batches(desk, job) == [("live", True)]
    with pytest.raises(JobHeld, match="case 7"):
        desk.evaluations.delete("outputs")
    assert merger(desk).remove(after_sec=0) == 0
    assert len(desk.rows(job)) == MANY

    assert desk.evaluations.release("outputs").hold is None
    assert batches(desk, job) == [("live", False)]
    desk.evaluations.delete("outputs")
    with pytest.raises(JobUnknown):
        desk.evaluations.hold(str(job.id), "too late")


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_a_hold_says_why(desk: Desk, reason: str) -> None:
    desk.numbers(1)
    job = desk.submit()
    with pytest.raises(JobInvalid):
        desk.evaluations.hold(str(job.id), reason)


def test_what_comes_of_a_job_after_it_is_held_is_held(desk: Desk, small_chunks: None) -> None:
    desk.numbers(20)
    job = desk.submit()
    desk.evaluations.hold(str(job.id), "case 7")
    desk.work(job)
    assert batches(desk, job) == [("live", True)] * 2
    assert merger(desk).merge() == 2
    assert batches(desk, job) == [("live", True), *[("superseded", True)] * 2]
    assert merger(desk).remove(after_sec=0) == 0


def test_what_is_held_while_it_is_merged_stays_held(
    desk: Desk, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.numbers(20)
    job = desk.work(desk.submit()).job
    write = Merger._written

    def written(self: Merger, *given: object) -> object:
        made = write(self, *given)  # type: ignore[arg-type]
        desk.evaluations.hold(str(job.id), "case 7")
        return made

    monkeypatch.setattr(Merger, "_written", written)
    assert merger(desk).merge() == 0
    assert batches(desk, job) == [("live", True)] * 2
    assert len(desk.rows(job)) == 20
