"""Streams on a real database: rows judged while they come, once however often they are sent, and kept as a job's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text

from proctor.identity.service import ensure_tenant
from proctor.jobs.errors import JobUnknown, StreamClosed, StreamTaken
from proctor.jobs.service import unkept
from proctor.jobs.values import Job, JobState
from proctor.kernel.ids import new_id
from proctor.results.merging import Merger, MergeRule
from proctor.results.retention import Retainer
from proctor.sdk import sweeping
from proctor.sdk.sending import Sender, gathered, read_lines
from proctor.sdk.streams import Streams
from proctor.streaming import service as streaming
from proctor.streaming.asking import StreamRequest
from proctor.streaming.errors import KeyReused, RowsInvalid
from proctor.streaming.rows import REQUEST_ROWS
from tests.conftest import Urls
from tests.data.desk import Desk

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]


@pytest.fixture
def streams(desk: Desk) -> Streams:
    return Streams(desk.platform)


def opened(streams: Streams, *evaluators: str, name: str = "bot", **more: Any) -> Job:
    asked = {"name": name, "evaluators": list(evaluators or ("exact-match",)), **more}
    return streams.open(StreamRequest.model_validate(asked))


def rows(first: int, last: int) -> Iterator[dict[str, Any]]:
    """Rows, the even ones of which are right."""
    for n in range(first, last):
        yield {"id": f"e{n}", "input": f"{n}?", "expected": str(n), "output": str(n) if n % 2 == 0 else "?"}


def judge_what_is_there(desk: Desk, job: Job) -> None:
    """Until everything that came so far has its results."""

    def is_left() -> bool:
        now = desk.service.job(str(job.id))
        return now.chunks_done < now.cut.chunks

    desk.worker(job, processes=1).run(is_left)


# --- what comes of rows -----------------------------------------------------------------------------------------------


def test_rows_are_judged_while_the_stream_is_open_and_it_ends_once_it_is_closed(desk: Desk, streams: Streams) -> None:
    job = opened(streams, "exact-match", "contains")
    assert (job.state, job.open, job.dataset_version, job.kept) == (JobState.QUEUED, True, None, False)
    assert streams.append("bot", rows(0, 4)).rows == 4
    judge_what_is_there(desk, job)
    standing = desk.evaluations.standing("bot")
    assert (standing.job.state, standing.job.open, standing.done) == (JobState.RUNNING, True, 8)
    assert (standing.evaluators[0].mean, standing.evaluators[0].coverage) == (0.5, 1.0)
    assert streams.append("bot", rows(4, 6)).rows == 2
    assert streams.close("bot").state is JobState.RUNNING
    done = desk.work(job)
    assert (done.job.state, done.job.open, done.done) == (JobState.COMPLETE, False, 12)
    assert [row["row"] for row in desk.rows(job)] == [*range(6), *range(6)]
    assert [row["example"] for row in desk.rows(job)][:6] == [f"e{n}" for n in range(6)]
    assert desk.events(job) == ["job.closed", "job.complete", "job.started", "job.submitted"]


def test_a_result_says_what_it_is_of_and_has_no_dataset_version(desk: Desk, streams: Streams) -> None:
    job = opened(streams, keep=True)
    said = {"id": 7, "expected": {"a": 1.0}, "output": {"a": 1}, "model": "m-1", "metadata": {"user": "u"}}
    streams.append("bot", [{**said, "time": "2026-12-01T12:00:00+01:00"}, {"id": "x", "output": "y"}])
    judge_what_is_there(desk, job)
    first, second = desk.rows(job)
    assert (first["example"], first["row"], first["status"], first["score"]) == ("7", 0, "scored", 1.0)
    assert (first["dataset_version"], first["model"], first["trace_id"]) == (None, "m-1", job.trace_id)
    assert (second["status"], second["score"], second["model"]) == ("invalid_example", None, None)
    with desk.evaluations.sql("SELECT count(*) AS n FROM results WHERE dataset_version IS NULL", ["bot"]) as answer:
        assert [row for batch in answer.batches for row in batch.to_pylist()] == [{"n": 2}]


def test_the_same_example_and_output_are_one_sample_through_a_stream_and_over_a_dataset(
    desk: Desk, streams: Streams
) -> None:
    desk.numbers(2)
    over = desk.submit()
    desk.work(over)
    through = opened(streams)
    streams.append("bot", rows(0, 2))
    judge_what_is_there(desk, through)
    assert [row["sample"] for row in desk.rows(through)] == [row["sample"] for row in desk.rows(over)]


def test_an_empty_stream_closes_as_complete_and_tells_no_number(desk: Desk, streams: Streams) -> None:
    job = opened(streams)
    assert streams.close("bot").state is JobState.COMPLETE
    assert streams.close("bot").state is JobState.COMPLETE
    (exact,) = desk.evaluations.standing("bot").evaluators
    assert (exact.expected, exact.mean, exact.coverage, exact.bounds) == (0, None, None, None)
    assert desk.events(job) == ["job.complete", "job.submitted"]


def test_a_large_request_is_cut_into_chunks_and_small_ones_share_one(desk: Desk, streams: Streams) -> None:
    opened(streams)
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda n: streams.append("bot", rows(n, n + 1)), range(12)))
    assert [one.rows for one in found] == [1] * 12
    job = streams.stream("bot").job
    assert job.cut.rows == 12
    assert job.cut.chunks < 6


# --- sent again -------------------------------------------------------------------------------------------------------


def test_what_is_sent_again_changes_nothing_and_is_answered_the_same(desk: Desk, streams: Streams) -> None:
    job = opened(streams)
    sent = [*rows(0, 3), {"id": "bad"}]
    first = streams.append("bot", sent, key="k1")
    assert streams.append("bot", sent, key="k1") == first
    assert (first.rows, first.refused) == (3, 1)
    assert streams.append("bot", rows(3, 4), key="k2").rows == 1
    with pytest.raises(KeyReused):
        streams.append("bot", rows(0, 1), key="k1")
    told = streams.stream("bot")
    assert (told.job.cut.rows, told.refused) == (4, 1)
    streams.close("bot")
    assert streams.append("bot", sent, key="k1") == first
    assert desk.work(job).done == 4


def test_a_row_with_a_key_of_its_own_is_there_once_whatever_it_is_sent_with(desk: Desk, streams: Streams) -> None:
    opened(streams)
    keyed = [{**row, "key": f"s-{n}"} for n, row in enumerate(rows(0, 6))]
    assert streams.append("bot", keyed[:4]).rows == 4
    again = streams.append("bot", [*keyed[2:], *keyed[2:3], {**keyed[0], "output": "another"}])
    assert (again.rows, again.refused) == (5, 1)
    assert (again.refusals[0].row, again.refusals[0].field) == (6, "key")
    streams.append("bot", [{**keyed[0], "output": "another"}])
    told = streams.stream("bot")
    assert (told.job.cut.rows, told.refused) == (6, 1)
    assert [one.field for one in streams.refusals("bot")] == ["key"]


def test_many_at_once_with_the_same_keys_add_each_row_once(desk: Desk, database: Any) -> None:
    """Each with a gatherer of its own, as processes have."""
    opened(Streams(desk.platform))
    keyed = [{**row, "key": f"s-{n}"} for n, row in enumerate(rows(0, 40))]
    begin = threading.Barrier(4)

    def send(part: int) -> int:
        mine = Streams(desk.platform)
        begin.wait()
        return sum(mine.append("bot", keyed[n : n + 20]).rows for n in range(0, 40 - 10 * (part % 2), 10))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    job = desk.service.job("bot")
    assert job.cut.rows == 40
    judge_what_is_there(desk, job)
    assert sorted(row["example"] for row in desk.rows(job)) == sorted(f"e{n}" for n in range(40))
    prefix = f"{desk.platform.tenant}/streams/{job.id}/"
    assert len(list(desk.platform.objects.list(prefix))) == 2 * job.cut.chunks, "what was written in vain is removed"


# --- what is no row ---------------------------------------------------------------------------------------------------

BAD: list[tuple[bytes, str, str]] = [
    (b"nonsense", "", "it is no JSON"),
    (b"[1]", "", "it is no JSON object"),
    (b'{"id": "a", "output": "\xff"}', "", "it is not UTF-8"),
    (b"[" * 5_000, "", "it is n"),
    (b'{"output": "x"}', "id", "it is missing"),
    (b'{"id": "", "output": "x"}', "id", "1 to 512 characters"),
    (b'{"id": "a\\u0000", "output": "x"}', "id", "can't be printed"),
    (b'{"id": "a"}', "output", "it is missing"),
    (b'{"id": "a", "output": null}', "output", "it is missing"),
    (b'{"id": "a", "output": "\\ud800"}', "output", "half a character"),
    (b'{"id": "a", "output": 1e999}', "output", "neither text nor JSON"),
    (b'{"id": "a", "output": 123456789012345678901234567890}', "output", "neither text nor JSON"),
    (b'{"id": "a", "output": "x", "model": "\\n"}', "model", "can be printed"),
    (b'{"id": "a", "output": "x", "time": "yesterday"}', "time", "a time with its zone"),
    (b'{"id": "a", "output": "x", "time": "2026-12-01T12:00:00"}', "time", "a time with its zone"),
    (b'{"id": "a", "output": "x", "metadata": 1}', "metadata", "it must be an object"),
    (b'{"id": "a", "output": "x", "mood": 1}', "mood", "there is no such field"),
    (b'{"id": "a", "output": "x", "key": 5}', "key", "it must be a text"),
    (b'{"malformed": "it came \\u0000 broken", "said": "\\u0000\\ud800", "key": "k"}', "", "it came"),
]


@pytest.mark.parametrize(("line", "field", "reason"), BAD)
def test_what_is_no_row_is_told_by_number_and_reason_and_the_others_go_on(
    desk: Desk, streams: Streams, line: bytes, field: str, reason: str
) -> None:
    opened(streams)
    good = b'{"id": "good", "output": "x"}'
    told = streams.append_lines("bot", b"\n".join([good, b"", line, good]))
    assert (told.rows, told.refused) == (2, 1)
    (refusal,) = told.refusals
    assert (refusal.row, refusal.field) == (2, field)
    assert reason in refusal.reason
    (kept,) = streams.refusals("bot")
    assert (kept.row, kept.field, kept.reason) == (2, field, refusal.reason)
    assert streams.stream("bot").refused == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no row in it"),
        (b"\n \n", "no row in it"),
        (b'{"id":"a","output":"x"}\n' * 5_001, "At most 5,000 rows"),
        (b"x" * ((8 << 20) + 1), "At most 8 MiB"),
    ],
)
def test_what_is_too_much_or_nothing_is_refused_as_a_whole(
    desk: Desk, streams: Streams, body: bytes, words: str
) -> None:
    opened(streams)
    with pytest.raises(RowsInvalid, match=words):
        streams.append_lines("bot", body)
    assert streams.stream("bot").job.cut.rows == 0


def test_refused_rows_beyond_those_that_are_kept_are_counted(
    desk: Desk, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.streaming.appending.KEPT_REFUSALS", 3)
    opened(streams)
    for _ in range(2):
        assert streams.append_lines("bot", b"x\ny").refused == 2
    assert streams.stream("bot").refused == 4
    assert len(streams.refusals("bot")) == 3
    assert [len(page) for page in (streams.refusals("bot", limit=2),)] == [2]


def test_what_can_not_be_asked_of_a_stream(desk: Desk, streams: Streams) -> None:
    desk.numbers(2)
    over = desk.submit(name="over")
    job = opened(streams)
    with pytest.raises(StreamTaken):
        opened(streams)
    with pytest.raises(JobUnknown):
        streams.append("gone", rows(0, 1))
    for asked in (streams.stream, streams.close, streams.refusals):
        with pytest.raises(StreamClosed):
            asked(str(over.id))
    with pytest.raises(StreamClosed):
        streams.append("over", rows(0, 1))
    streams.close("bot")
    with pytest.raises(StreamClosed):
        streams.append("bot", rows(0, 1))
    assert opened(streams).id != job.id, "the name is free again"


def test_another_tenant_reaches_nothing_of_it(desk: Desk, streams: Streams, database: Any) -> None:
    job = opened(streams)
    streams.append_lines("bot", b'{"id": "a", "output": "x", "key": "k"}\nnonsense')
    other = ensure_tenant(database, f"t-{new_id().hex}")
    stranger = Streams(type(desk.platform)(**{**desk.platform.__dict__, "tenant": other}))
    for reference in ("bot", str(job.id)):
        for asked in (stranger.stream, stranger.close, stranger.refusals):
            with pytest.raises(JobUnknown):
                asked(reference)
        with pytest.raises(JobUnknown):
            stranger.append(reference, rows(0, 1))
    assert opened(stranger).name == "bot", "names are a tenant's own"
    assert stranger.append_lines("bot", b'{"id": "a", "output": "y", "key": "k"}').rows == 1, "and so are keys"


# --- pausing and the like ---------------------------------------------------------------------------------------------


def test_rows_sent_to_a_paused_stream_wait_and_a_cancelled_one_takes_none(desk: Desk, streams: Streams) -> None:
    job = opened(streams)
    streams.append("bot", rows(0, 2))
    assert desk.service.pause("bot").open
    assert streams.append("bot", rows(2, 4)).rows == 2
    desk.worker(job).run(lambda: False)
    assert desk.service.job("bot").chunks_done == 0
    assert desk.service.resume("bot").open
    judge_what_is_there(desk, job)
    assert len(desk.rows(job)) == 4
    cancelled = desk.service.cancel("bot")
    assert (cancelled.state, cancelled.open) == (JobState.CANCELLED, False)
    with pytest.raises(StreamClosed):
        streams.append("bot", rows(4, 5))
    assert "job.complete" not in desk.events(job)


def test_appends_while_it_is_closed_are_whole_or_refused(desk: Desk, streams: Streams) -> None:
    job = opened(streams)
    begun = threading.Event()
    taken = list[int]()

    def send() -> None:
        try:
            for n in range(0, 1000, 2):
                taken.append(streams.append("bot", rows(n, n + 2)).rows)
                begun.set()
        except StreamClosed:
            pass

    thread = threading.Thread(target=send)
    thread.start()
    begun.wait()
    Streams(desk.platform).close("bot")
    thread.join()
    done = desk.work(job)
    assert done.job.state is JobState.COMPLETE
    assert done.job.cut.rows == sum(taken) == len(desk.rows(job))


def test_rows_that_are_gone_are_a_gap_with_its_reason(
    desk: Desk, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = opened(streams)
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.01, 0.01))
    streams.append("bot", rows(0, 3))
    for key in desk.platform.objects.list(f"{desk.platform.tenant}/streams/"):
        desk.platform.objects.delete(key)
    judge_failures = desk.worker(job)
    judge_failures.run(lambda: not desk.service.gaps(job))
    assert desk.service.job("bot").open, "an open stream goes on"
    streams.append("bot", rows(3, 5))
    streams.close("bot")
    done = desk.work(job)
    assert done.job.state is JobState.COMPLETE_WITH_GAPS
    assert [(gap.chunk, gap.start, gap.stop) for gap in done.gaps] == [(0, 0, 3)]
    assert "ObjectMissing" in done.gaps[0].reason
    assert [row["row"] for row in desk.rows(job)] == [3, 4]


# --- what is computed of one ------------------------------------------------------------------------------------------


def test_every_analysis_of_a_job_works_on_a_stream(desk: Desk, streams: Streams) -> None:
    from proctor.jobs.analyses.values import By
    from proctor.sdk.analyses import JobAnalyses

    desk.numbers(6)
    over = desk.submit(name="over")
    desk.work(over)
    job = opened(streams, "exact-match", "contains")
    streams.append("bot", [*rows(0, 6), *rows(0, 6)])
    judge_what_is_there(desk, job)
    asked = JobAnalyses(desk.platform)
    (exact, _) = asked.segments("bot", By.TAG)
    assert (exact.parts, exact.unlabelled) == ((), 12)
    found = asked.compare("bot", "over", evaluators=["exact-match"])
    (difference,) = found.evaluators
    assert (found.paired_by, difference.examples) == ("example", 6)
    assert (difference.left_out.repeats_a, difference.left_out.repeats_b) == (0, 0)
    assert asked.failures("bot").not_evaluated == 0
    report = asked.report("bot", "over")
    assert (report.job.dataset, report.expected) == (None, 24)


# --- how long it is kept ----------------------------------------------------------------------------------------------


def test_a_stream_that_is_deleted_leaves_no_row_and_no_object(desk: Desk, streams: Streams, database: Any) -> None:
    job = opened(streams)
    streams.append_lines("bot", b'{"id": "a", "output": "x", "key": "k"}\nnonsense')
    judge_what_is_there(desk, job)
    streams.close("bot")
    assert desk.evaluations.delete("bot").state is JobState.DELETED
    assert list(desk.platform.objects.list(f"{desk.platform.tenant}/streams/")) == []
    with database.tenant(desk.platform.tenant) as connection:
        for table in ("job_piece", "stream_key", "stream_refusal", "stream_tally"):
            assert connection.execute(text(f"SELECT count(*) FROM proctor.{table}")).scalar_one() == 0, table


def aged(urls: Urls, tenant: UUID) -> None:
    """Make everything of streams, and every batch, forty days old."""
    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        connection.execute(text("SELECT set_config('proctor.tenant', :tenant, true)"), {"tenant": str(tenant)})
        for table in ("job_piece", "stream_key", "stream_refusal"):
            connection.execute(text(f"UPDATE proctor.{table} SET created_at = now() - interval '40 days'"))
        connection.execute(text("UPDATE proctor.result_batch SET max_time = now() - interval '40 days'"))
    engine.dispose()


def test_old_rows_go_with_their_results_and_daily_sums_stay(desk: Desk, streams: Streams, urls: Urls) -> None:
    tenant, objects, database = desk.platform.tenant, desk.platform.objects, desk.platform.database
    said = b'{"id": "a", "expected": "x", "output": "x", "key": "k"}\nnonsense'
    named = {name: opened(streams, name=name, keep=name == "kept") for name in ("bot", "kept", "held")}
    for name, job in named.items():
        streams.append_lines(name, said)
        judge_what_is_there(desk, job)
    desk.evaluations.hold("held", "case 7")
    streams.append("bot", rows(0, 2))
    retainer = Retainer(database, objects, tenant, desk.folder)

    def let_go() -> tuple[int, int]:
        rolled = retainer.let_go(database.as_tenant(tenant, lambda c: unkept(c, tenant)))
        return rolled, streaming.let_go(database, objects, tenant)

    assert let_go() == (0, 0), "nothing is old"
    aged(urls, tenant)
    assert let_go() == (1, 1), "what was judged, of the one that is neither kept nor held"
    assert let_go() == (0, 0)
    assert [len(desk.rows(job)) for job in named.values()] == [0, 1, 1]
    assert [len(streams.refusals(name)) for name in named] == [0, 1, 1]
    assert len(list(objects.list(f"{tenant}/streams/{named['bot'].id}/"))) == 2, "what waits stays"
    with desk.evaluations.sql("SELECT n, score_sum FROM rollups") as answer:
        assert [row for batch in answer.batches for row in batch.to_pylist()] == [{"n": 1, "score_sum": 1.0}]
    judge_what_is_there(desk, named["bot"])
    assert len(desk.rows(named["bot"])) == 2
    assert streams.append_lines("kept", said).rows == 1
    assert streams.stream("kept").job.cut.rows == 1, "a key is known for as long as the rows"


def test_a_sweep_leaves_rows_that_a_stream_has_and_takes_what_was_written_in_vain(desk: Desk, streams: Streams) -> None:
    job = opened(streams)
    streams.append("bot", rows(0, 2))
    tenant, objects = desk.platform.tenant, desk.platform.objects
    lost = [f"{tenant}/streams/{job.id}/{new_id()}/outputs/00000.parquet", f"{tenant}/streams/nothing/x"]
    for key in lost:
        objects.put(key, b"x")
    unnamed = sweeping._Unnamed(desk.platform.database, objects, timedelta(0))
    sweeping_now = {item.key: kind for kind, item in unnamed.of(tenant, lambda _: None)}
    assert sweeping_now == {}, "what is young may yet be named"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping, "UNNAMED_AGE", timedelta(0))
        assert {item.key: kind for kind, item in unnamed.of(tenant, lambda _: None)} == dict.fromkeys(lost, "streams")


def test_staged_results_of_a_stream_that_never_rests_are_merged(desk: Desk, streams: Streams) -> None:
    job = opened(streams)
    for n in range(3):
        streams.append("bot", rows(n, n + 1))
        judge_what_is_there(desk, job)
    before = desk.rows(job)
    tenant, objects, database = desk.platform.tenant, desk.platform.objects, desk.platform.database
    assert Merger(database, objects, tenant, desk.folder, MergeRule(many=4)).merge() == 0
    merger = Merger(database, objects, tenant, desk.folder, MergeRule(many=3))
    assert (merger.merge(), merger.merge()) == (3, 0)
    assert desk.rows(job) == before


def test_a_refusal_names_the_line_of_the_file(desk: Desk, streams: Streams) -> None:
    """However many requests the file takes, and whatever is empty in it."""
    streams.open(StreamRequest(name="bot", evaluators=["contains"]))
    lines = [b'{"id": "a", "output": "x", "expected": "x"}'] * (REQUEST_ROWS + 20)
    lines[3], lines[REQUEST_ROWS + 10] = b"", b"broken"
    file = BytesIO(b"\n".join(lines))
    sender = Sender(streams, "bot")
    told = [one for batch in gathered(read_lines(file, "f")) for one in sender.send(batch).refusals]
    assert [one.line for one in told] == [REQUEST_ROWS + 11]
    assert [one.row for one in streams.refusals("bot")] == [REQUEST_ROWS + 11]
    assert streams.append("bot", [{"id": "a", "output": "x", "line": 0}]).refusals[0].field == "line"
