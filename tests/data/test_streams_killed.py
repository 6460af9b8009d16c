"""Whoever sends may die at any time, and several may send at once: each row is in the stream once."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from proctor.engine.worker import recover
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.sdk.remote.errors import ServerUnreachable
from proctor.sdk.sending import Sender, gathered, read_lines
from proctor.sdk.streams import Streams
from proctor.streaming.rows import ROW_BYTES
from proctor.streaming.values import Appended
from tests.conftest import Urls
from tests.data.desk import LEASE_SEC, Desk
from tests.data.programs import started
from tests.data.test_streams import judge_what_is_there, opened, rows

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]


@pytest.fixture
def streams(desk: Desk) -> Streams:
    return Streams(desk.platform)


def written(desk: Desk, first: int, last: int) -> Path:
    file = desk.folder / f"rows-{first}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(first, last)))
    return file


def appending(desk: Desk, urls: Urls, file: Path) -> subprocess.Popen[str]:
    return started(desk, urls, "append_program", file=file)


def printed(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def test_a_sender_that_is_killed_goes_on_where_it_was_and_nothing_is_lost_or_doubled(
    desk: Desk, streams: Streams, urls: Urls
) -> None:
    job = opened(streams)
    file = written(desk, 0, 200)
    process = appending(desk, urls, file)
    with printed(process) as told:
        assert told.readline() == "10\n"
        assert told.readline() == "10\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert 20 <= streams.stream("bot").job.cut.rows < 200
    process = appending(desk, urls, file)
    with printed(process) as told:
        assert sum(map(int, told)) == 200, "the answer is the same"
    assert process.wait() == 0
    judge_what_is_there(desk, job)
    found = desk.rows(job)
    assert [row["row"] for row in found] == list(range(200))
    assert sorted(row["example"] for row in found) == sorted(f"e{n}" for n in range(200))


def test_two_processes_append_to_one_stream(desk: Desk, streams: Streams, urls: Urls) -> None:
    job = opened(streams)
    processes = [appending(desk, urls, written(desk, first, first + 100)) for first in (0, 100)]
    for process in processes:
        with printed(process) as told:
            assert sum(map(int, told)) == 100
        assert process.wait() == 0
    judge_what_is_there(desk, job)
    found = desk.rows(job)
    assert [row["row"] for row in found] == list(range(200))
    assert sorted(row["example"] for row in found) == sorted(f"e{n}" for n in range(200))


def test_a_worker_that_rests_is_woken(desk: Desk, streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look for work by itself in an hour."""
    monkeypatch.setattr("proctor.jobs.worker.IDLE_SEC", (3600.0, 3600.0))
    monkeypatch.setattr("proctor.streaming.appending.WAKE_SEC", -1.0)
    opened(streams)
    settled = threading.Semaphore(0)
    settings = ChunkWorkerSettings(processes=1, lease_sec=LEASE_SEC)
    platform = desk.platform
    worker = ChunkWorker(
        platform.database, platform.objects, settings, recover=recover, on_settled=lambda _: settled.release()
    )
    thread = threading.Thread(target=worker.run, args=(lambda: True,))
    thread.start()
    try:
        for n in range(2):
            streams.append("bot", rows(n, n + 1))
            assert settled.acquire(timeout=60)
    finally:
        worker.stop()
        thread.join()
    assert desk.evaluations.standing("bot").done == 2


# --- sending ----------------------------------------------------------------------------------------------------------


class Away:
    """A server that is away a few times, once after it took the rows."""

    def __init__(self, behind: Streams, failures: int) -> None:
        self.behind, self.failures = behind, failures
        self.keys: list[str | None] = []

    def append_lines(self, stream: str, lines: bytes, *, key: str | None = None) -> Appended:
        self.keys.append(key)
        if self.failures:
            self.failures -= 1
            if not self.failures:
                self.behind.append_lines(stream, lines, key=key)
            raise ServerUnreachable()
        return self.behind.append_lines(stream, lines, key=key)


def test_what_passes_is_tried_again_with_the_same_keys(
    desk: Desk, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.sdk.sending.WAIT_SEC", (0.001, 0.001))
    opened(streams)
    away, waited = Away(streams, 3), list[str]()
    sender = Sender(away, "bot", on_wait=lambda error: waited.append(error.code))
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows(0, 3))
    sent = sender.send(list(read_lines(io.BytesIO(lines), "here")))
    assert (sent.rows, waited) == (3, ["server-unreachable"] * 3)
    assert len(set(away.keys)) == 1
    assert streams.stream("bot").job.cut.rows == 3
    monkeypatch.setattr("proctor.sdk.sending.PATIENCE_SEC", -1.0)
    with pytest.raises(ServerUnreachable):
        Sender(Away(streams, 9), "bot").send([b"{}"])


def lines_of(text: bytes, source: str = "here") -> Sequence[bytes]:
    return [line for batch in gathered(read_lines(io.BytesIO(text), source)) for line in batch]


def test_a_line_has_the_same_key_whenever_it_is_read_and_no_other_has_it() -> None:
    text = b'{"id": "a", "output": "x"}\n\n{"id": "a", "output": "x"}\nnonsense'
    found = lines_of(text)
    assert found == lines_of(text)
    keys = [json.loads(line)["key"] for line in [*found, *lines_of(text, "there")]]
    assert len(set(keys)) == 6
    assert "malformed" in json.loads(found[2])


def test_a_line_that_is_too_long_is_told_and_the_next_is_whole(desk: Desk, streams: Streams) -> None:
    opened(streams)
    text = b'{"id": "' + b"x" * (3 * ROW_BYTES) + b'"}\n{"id": "a", "output": "x"}\n' + b"y" * (2 * ROW_BYTES)
    sent = Sender(streams, "bot").send(lines_of(text))
    assert (sent.rows, [(one.row, one.reason) for one in sent.refusals]) == (
        1,
        [(1, "it is too long"), (3, "it is too long")],
    )


def test_half_a_character_and_long_foreign_texts_go_as_they_came(desk: Desk, streams: Streams) -> None:
    opened(streams)
    foreign = json.dumps({"id": "a", "output": "読" * 300_000}, ensure_ascii=False).encode()
    sent = Sender(streams, "bot").send(lines_of(foreign + b'\n{"id": "b", "output": "\\ud800"}'))
    assert (sent.rows, [(one.row, one.field) for one in sent.refusals]) == (1, [(2, "output")])


def test_what_can_not_be_read_is_raised_after_what_was() -> None:
    class Broken(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if line := super().readline(size):
                return line
            raise OSError("gone")

    found = gathered(read_lines(Broken(b'{"id": "a", "output": "x"}\n'), "here"))
    assert len(next(found)) == 1
    with pytest.raises(OSError, match="gone"):
        next(found)
