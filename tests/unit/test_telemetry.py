"""Traces and log lines without a server: who is their parent, what is taken out, what is found, what is dropped."""

from __future__ import annotations

import contextvars
import json
import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog

from proctor.kernel.errors import OwnFault
from proctor.objects.store import ObjectStore
from proctor.telemetry import keeping, logs
from proctor.telemetry.context import Parent, bound_here, current, note, read_traceparent, scope, traceparent
from proctor.telemetry.exporting import Collector, sampled, tracing
from proctor.telemetry.faults import fault_of
from proctor.telemetry.keeping import Keeper
from proctor.telemetry.logs import Line, configure_logs
from proctor.telemetry.places import OPERATORS, is_log, segment_key, sweep
from proctor.telemetry.redaction import MASK, hide, redacted
from proctor.telemetry.searching import LogQuery, Place, search
from proctor.telemetry.spans import Span, record, record_with, span
from proctor.telemetry.tallies import Tally, counts

TENANT = "874b4093-fb79-8cf2-8fd9-8e6e48d23b3d"
NOW = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path)


@pytest.fixture
def recorded() -> Iterator[list[Span]]:
    found: list[Span] = []
    record_with(found.append)
    yield found
    record_with(None)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "x",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01\n",
        f"01-{TRACE}-{SPAN}-01-" + "x" * 1000,
    ],
)
def test_what_is_no_traceparent_is_ignored(text: str | None) -> None:
    assert read_traceparent(text) is None


def test_a_traceparent_is_gone_on_with() -> None:
    with scope(read_traceparent(f"00-{TRACE}-{SPAN}-00")):
        assert traceparent() == f"00-{TRACE}-{SPAN}-01"
    assert read_traceparent(f"01-{TRACE}-{SPAN}-01-later") == Parent(trace_id=TRACE, span_id=SPAN)


def test_spans_are_children_of_those_around_them(recorded: list[Span]) -> None:
    with scope(Parent(trace_id=TRACE, span_id=SPAN), tenant=TENANT), span("outer") as outer, span("inner"):
        note(user="u")
        assert bound_here() == {"tenant": TENANT, "user": "u"}
    (inner, ended) = recorded
    assert (ended, ended.parent_id, inner.parent_id, inner.trace_id) == (outer, SPAN, outer.span_id, TRACE)
    assert current() is None


def test_a_thread_s_note_is_on_its_request_and_on_no_other() -> None:
    with scope(run_set="one"):
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(lambda: note(tenant=TENANT),))
        thread.start()
        thread.join()
        assert bound_here() == {"run_set": "one", "tenant": TENANT}
        with scope(Parent(trace_id=TRACE, span_id="")):
            assert bound_here() == {}


def test_a_span_that_breaks_says_so_and_no_more(recorded: list[Span]) -> None:
    with pytest.raises(ValueError), span("work", {"where": "ada@example.org"}):
        raise ValueError("planted")
    assert recorded[0].failed
    assert recorded[0].attributes == {"proctor.where": MASK}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc.def-ghi", f"authorization: {MASK}"),
        ("sent bearer abcdefgh1 there", f"sent bearer {MASK} there"),
        ("proctor_" + "a" * 26 + "_bbbbbbbbbb_" + "x" * 43, MASK),
        ("postgresql://ada:s3cret@host/db", f"postgresql://{MASK}@host/db"),
        ("Key (email)=(ada@example.org) exists", f"Key (email)=({MASK}) exists"),
        ("users/ada%40example.org", f"{MASK}"),
        ('{"password": "hunter 2", "a": 1}', f'{{"password": {MASK}, "a": 1}}'),
        ("api_key=abc&x=1", f"api_key={MASK}&x=1"),
        ("https://h/setup#" + "t" * 43, f"https://h/setup#{MASK}"),
        ("AKIAABCDEFGHIJKLMNOP", MASK),
        ("ghp_abcdefghijklmnop", MASK),
        ("Zx9" * 15, MASK),
        (TRACE, TRACE),
        (TENANT, TENANT),
        ("f" * 64, "f" * 64),
        ("run_set.created", "run_set.created"),
        ("7 cells without a verdict", "7 cells without a verdict"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, left: str) -> None:
    assert redacted(text) == left
    assert redacted({"a": [text]}) == {"a": [left]}


def test_known_secrets_are_taken_out_wherever_they_stand() -> None:
    hide(["deadbeef00", "short"[:4], 'with "quotes"'])
    assert redacted(["deadbeef00", {"deadbeef00": 'x with "quotes"'}, "shor"]) == [MASK, {MASK: f"x {MASK}"}, "shor"]


def test_an_exception_is_told_without_others_words() -> None:
    try:
        try:
            int("planted")
        except ValueError as error:
            raise OwnFault("It broke.") from error
    except OwnFault as error:
        ours, theirs = fault_of(error)
    assert (ours["error"], theirs["error"]) == ("OwnFault: It broke.", "ValueError")
    assert "test_telemetry.py" in str(theirs["at"])


def test_a_line_says_where_and_never_what_a_library_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_OUTLET", logs._Outlet())
    configure_logs("info")
    with scope(Parent(trace_id=TRACE, span_id=SPAN), tenant=TENANT):
        structlog.get_logger("x").info("said", to="ada@example.org", nothing=None)
    logging.getLogger("library").warning("planted-words %s", "planted-value")
    thread = threading.Thread(target=int, args=("planted",))
    thread.start()
    thread.join()
    said, library, broken = map(json.loads, capfd.readouterr().err.splitlines())
    at = said.pop("at")
    assert datetime.fromisoformat(at).tzinfo is not None
    assert said == {"level": "info", "event": "said", "trace_id": TRACE, "tenant": TENANT, "to": MASK}
    assert (library["event"], library["library"]) == ("library", "library")
    assert (broken["event"], broken["fault"][0]["error"]) == ("thread.broke", "ValueError")
    assert "planted" not in json.dumps([library, broken])


def put_lines(objects: ObjectStore, owner: str, lines: list[dict[str, object]], process: str = "p") -> None:
    for number, line in enumerate(lines):
        at = datetime.fromisoformat(str(line["at"]))
        objects.put(segment_key(owner, at, process, number), json.dumps(line).encode() + b"\n{half a li\n")


def line(minutes_ago: float, **fields: object) -> dict[str, object]:
    at = NOW - timedelta(minutes=minutes_ago)
    return {"at": at.isoformat(), "level": "info", "event": "x", "trace_id": TRACE, **fields}


def query(**fields: object) -> LogQuery:
    return LogQuery(**{"tenant": TENANT, "since": NOW - timedelta(days=2), "until": NOW, **fields})  # type: ignore[arg-type]


def test_pages_hold_each_line_once_the_newest_first(objects: ObjectStore) -> None:
    ages = [0.1, 0.2, 0.3, 1, 59, 61, 300, 1500, 2000]
    put_lines(objects, TENANT, [line(age, n=age) for age in ages[::2]], "one")
    put_lines(objects, TENANT, [line(age, n=age) for age in ages[1::2]], "two")
    put_lines(objects, OPERATORS, [line(1, n="foreign")])
    found, place = [], None
    while True:
        page = search(objects, query(), before=place, limit=2)
        found += [one.fields["n"] for one in page.lines]
        place = page.next
        if place is None:
            break
    assert found == ages
    assert [
        one.fields["n"] for one in search(objects, query(since=NOW - timedelta(hours=1)), before=None, limit=9).lines
    ] == ages[:5]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"run_set": "r"}, ["a", "b"]),
        ({"attempt": "t"}, ["b"]),
        ({"user": "u"}, ["c"]),
        ({"user": "u", "started": frozenset({"r"})}, ["a", "b", "c"]),
        ({"model": "m"}, ["a", "b"]),
        ({"model": "p"}, ["b"]),
        ({"level": "warning"}, ["c"]),
        ({"trace_id": TRACE, "text": "NEEDLE"}, ["d"]),
        ({"trace_id": "0" * 32}, []),
        ({"text": "bin"}, ["d"]),
    ],
)
def test_lines_are_found_by_what_they_are_about(
    objects: ObjectStore, wanted: dict[str, object], found: list[str]
) -> None:
    put_lines(
        objects,
        TENANT,
        [
            line(1, n="a", run_set="r", profiles=["m"]),
            line(2, n="b", run_set="r", attempt="t", model="m", profile="p"),
            line(3, n="c", user="u", level="error"),
            line(4, n="d", words="a Needle in a bin"),
        ],
    )
    page = search(objects, query(**wanted), before=None, limit=10)
    assert [one.fields["n"] for one in page.lines] == found


def test_a_page_reads_no_more_than_it_may(objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put_lines(objects, TENANT, [line(age, n=age) for age in (1, 2, 3)])
    monkeypatch.setattr("proctor.telemetry.searching.MOST_BYTES", 10)
    page = search(objects, query(text='"n": 3'), before=None, limit=10)
    assert page.lines == []
    assert page.next is not None
    seen = [page.next]
    while not page.lines:
        assert page.next is not None
        page = search(objects, query(text='"n": 3'), before=page.next, limit=10)
        seen.append(page.next or Place(NOW, ""))
    assert [one.fields["n"] for one in page.lines] == [3]
    assert len(seen) == 3


def test_lines_are_kept_by_tenant_and_the_last_at_the_end(objects: ObjectStore) -> None:
    keeper = Keeper(objects, every_sec=60)
    keeper.start()
    keeper.take(Line(at=NOW, tenant=TENANT, text="{}"))
    keeper.take(Line(at=NOW, tenant="../../x", text="[]"))
    keeper.close()
    keys = list(objects.list(""))
    assert [(key.split("/")[0], objects.get(key)) for key in keys] == [(TENANT, b"{}\n"), (OPERATORS, b"[]\n")]
    assert all(map(is_log, keys))


def test_a_store_that_fails_loses_lines_and_nothing_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / TENANT).write_text("no folder")
    before = counts()[Tally.LINES_LOST]
    keeper = Keeper(ObjectStore(tmp_path), every_sec=60)
    keeper.start()
    keeper.take(Line(at=NOW, tenant=TENANT, text="{}"))
    keeper.close()
    assert counts()[Tally.LINES_LOST] == before + 1
    assert "logs.not_kept" in capfd.readouterr().err


def test_lines_that_wait_are_bounded(objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_BYTES", 100)
    before = counts()[Tally.LINES_LOST]
    keeper = Keeper(objects, every_sec=60)
    for _ in range(20):
        keeper.take(Line(at=NOW, tenant=TENANT, text="x" * 9))
    assert counts()[Tally.LINES_LOST] == before + 10


def test_whole_days_are_swept(objects: ObjectStore) -> None:
    put_lines(objects, TENANT, [line(0), line(60 * 24 * 3), line(60 * 24 * 5)])
    objects.put(f"{TENANT}/states/x.jsonl", b"kept")
    assert sweep(objects, TENANT, days=3, now=NOW) == 1
    assert sweep(objects, TENANT, days=3, now=NOW) == 0
    assert len(list(objects.list(TENANT + "/"))) == 3


def test_a_trace_is_sent_whole_or_not_at_all() -> None:
    assert sampled(TRACE, 1.0)
    assert not sampled(TRACE, 0.0)
    share = sum(sampled(f"{'0' * 18}{number * (1 << 56) // 1000:014x}", 0.25) for number in range(1000))
    assert share == 250


def test_a_collector_that_is_away_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.telemetry.exporting.WAITING", 5)
    monkeypatch.setattr("proctor.telemetry.exporting.CLOSE_SEC", 0.1)
    before = counts()[Tally.SPANS_DROPPED]
    with tracing(Collector(endpoint="http://127.0.0.1:1")):
        for _ in range(600):
            record(Span("x", TRACE, "", SPAN, 1, ended=2))
    assert counts()[Tally.SPANS_DROPPED] > before
    assert Collector(endpoint="http://c/").url == "http://c/v1/traces"
    assert Collector(endpoint="http://c/v1/traces").url == "http://c/v1/traces"


def test_without_a_collector_no_span_is_recorded_and_none_is_imported(capfd: pytest.CaptureFixture[str]) -> None:
    import subprocess
    import sys

    code = (
        "import sys; import proctor.cli.main, proctor.sdk.client, proctor.engine.worker; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with span("x") as made:
        assert made.span_id == ""


@pytest.mark.parametrize("unit", ["a-", "A", "a@", "token", "eyJ", "://:", "bearer ", "aB_"])
def test_cleaning_a_long_text_takes_no_long_time(unit: str) -> None:
    began = time.perf_counter()
    redacted(unit * 20_000)
    assert time.perf_counter() - began < 2
