"""One trace from a request to the sandbox's phases, across processes, at a collector that speaks OTLP."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.acceptance.collector import Collector, SentSpan, collecting
from tests.acceptance.conftest import ROOT, Cli, Desk, serving

pytestmark = [pytest.mark.slow, pytest.mark.server]

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
RUN_SET = """
name = "traced"
suite = "tasks"
[[profiles]]
name = "oracle"
agent = "oracle"
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def until(holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def logged_in(cli: Cli, link: str, folder: Path) -> Desk:
    desk = Desk(folder=folder)
    desk.folder.mkdir()
    desk("login", link, "--tenant", "acme", "--owner", "ada@example.org")
    return desk


class Caller:
    """Asks as the desk's user, with headers of one's own."""

    def __init__(self, desk: Desk, url: str) -> None:
        self._url = f"{url}/api/v1"
        (self.key,) = json.loads((desk.folder / "config" / "proctor" / "logins.json").read_text())["keys"].values()

    def __call__(self, method: str, path: str, body: object = None, **headers: str):  # type: ignore[no-untyped-def]
        request = urllib.request.Request(
            f"{self._url}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **headers},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer), {name.lower(): value for name, value in answer.headers.items()}


def test_one_trace_from_the_request_to_the_sandbox(cli: Cli, collector: Collector, tmp_path: Path) -> None:
    """API and worker are two processes; every span's parent was sent, but for the caller's own."""
    send = {"PROCTOR_OTLP_ENDPOINT": collector.url, "PROCTOR_OTLP_HEADERS": "x-collector-key=planted-header-value"}
    with ExitStack() as roles:
        link = roles.enter_context(serving(cli, "api,planner,relay", **send))
        roles.enter_context(serving(cli, "worker,operations", **send))
        desk = logged_in(cli, link, tmp_path / "desk")
        (tmp_path / "desk" / "tasks").symlink_to(ROOT / "examples" / "basics")
        suite = desk.json("suite", "import", "tasks", "--label", "basics")["suite_id"]
        ask = Caller(desk, link.partition("/setup#")[0])
        spec = {"name": "traced", "suite": suite, "profiles": [{"name": "oracle", "agent": "oracle"}]}
        submitted = {"spec": spec, "spec_digest": "0" * 64, "limit": 2}
        made, headers = ask("POST", "run-sets", submitted, traceparent=f"00-{TRACE}-{CALLER}-01")
        assert headers["x-trace-id"] == TRACE
        run_set = made["run_set"]["id"]
        until(lambda: len(collector.named("attempt.settle")) == 2, "two attempts settle")
        exported, _ = ask("POST", f"run-sets/{run_set}/exports", {}, traceparent=f"00-{'a' * 32}-{CALLER}-01")
        until(lambda: bool(collector.named("operation")), "the export is done")
        cells, _ = ask("GET", f"run-sets/{run_set}/cells")
        attempt = next(cell["attempt"] for cell in cells["items"] if cell["attempt"])
        detail, _ = ask("GET", f"attempts/{attempt}")
        assert detail["attempt"]["trace_id"] == TRACE
        assert f"trace {TRACE}" in desk("attempt", "show", attempt).stdout
        by_trace = desk.json_lines("logs", "--trace", TRACE)
        assert {"run_set.created", "attempt.started", "attempt.settled", "request"} <= {
            one["event"] for one in by_trace
        }

    spans = [one for one in collector.spans if one.trace_id == TRACE]
    by_id = {one.span_id: one for one in spans}
    assert len(by_id) == len(spans), "each span was sent once"

    def above(span: SentSpan) -> list[str]:
        names = []
        while span.parent_id != CALLER:
            span = by_id[span.parent_id]
            names.append(span.name)
        return names

    request = "POST /run-sets"
    for span in spans:
        assert span.name == request or above(span)[-1] == request, span
    for phase in ("start", "agent", "collect", "verify"):
        (first, second) = collector.named(f"phase.{phase}")
        assert above(first) == above(second) == ["attempt", "run_set.open", request]
    creations = collector.named("sandbox.create")
    assert {tuple(above(one)[:2]) for one in creations} <= {("phase.start", "attempt"), ("phase.verify", "attempt")}
    assert len(creations) >= 2
    assert [above(one) for one in collector.named("attempt.settle")] == [["attempt", "run_set.open", request]] * 2
    assert {one.process for one in spans if one.name == request} != {
        one.process for one in spans if one.name == "attempt"
    }
    settled = collector.named("attempt.settle")[0].attributes
    assert (settled["proctor.outcome"], settled["proctor.owner"]) == ("passed", "model"), settled
    (exporting,) = collector.named("operation")
    assert exporting.trace_id == "a" * 32
    assert exporting.attributes["proctor.operation"] == exported["id"]
    sent = b"".join(collector.raw)
    assert [one for one in (b"ada@example.org", ask.key.encode(), b"planted-header-value") if one in sent] == []
    assert collector.headers[0]["x-collector-key"] == "planted-header-value"


def test_a_hostile_traceparent_is_ignored(cli: Cli, tmp_path: Path) -> None:
    with serving(cli) as link:
        ask = Caller(logged_in(cli, link, tmp_path / "desk"), link.partition("/setup#")[0])
        for hostile in (
            f"00-{'0' * 32}-{CALLER}-01",
            f"00-{TRACE.upper()}-{CALLER}-01",
            "x" * 4000,
            f"ff-{TRACE}-{CALLER}-01",
        ):
            _, headers = ask("GET", "me", traceparent=hostile)
            assert len(headers["x-trace-id"]) == 32
            assert headers["x-trace-id"] not in hostile.lower()


def test_a_collector_that_is_away_costs_nothing(cli: Cli, tmp_path: Path) -> None:
    """Work goes on at its speed, what could not be sent is counted, and the server ends in good order."""
    with serving(cli, PROCTOR_OTLP_ENDPOINT="http://127.0.0.1:1") as link:
        desk = logged_in(cli, link, tmp_path / "desk")
        ask = Caller(desk, link.partition("/setup#")[0])
        began = time.monotonic()
        for _ in range(50):
            ask("GET", "me")
        assert time.monotonic() - began < 10
        metrics = f"{link.partition('/setup#')[0]}/metrics"
        request = urllib.request.Request(metrics, headers={"Authorization": f"Bearer {ask.key}"})

        def dropped() -> bool:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return any(
                    line.startswith('proctor_trace_spans_total{state="dropped"}') and float(line.split()[-1]) >= 50
                    for line in answer.read().decode().splitlines()
                )

        until(dropped, "what was not sent is counted")
