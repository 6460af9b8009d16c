"""A team's first day with a server: started, set up by a link, run from another folder, looked at, and closed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.acceptance.conftest import ROOT, Cli, Desk, free_port, serving

pytestmark = [pytest.mark.slow, pytest.mark.server]

RUN_SET = """
name = "team"
suite = "tasks"
trials = 2
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "noop"
agent = "noop"
"""


@pytest.fixture
def server(cli: Cli) -> Iterator[str]:
    with serving(cli) as link:
        yield link


@pytest.fixture
def ada(cli: Cli, server: str, tmp_path: Path) -> Cli:
    """The first administrator, on a machine with nothing but the command line."""
    desk = Desk(folder=tmp_path / "desk")
    desk.folder.mkdir()
    told = desk("login", server, "--tenant", "acme", "--owner", "ada@example.org").stdout
    assert re.search(r"ada@example\.org \(owner of acme\) on http://127\.0\.0\.1:\d+", told)
    return desk


def test_a_teams_first_day(cli: Cli, ada: Cli) -> None:
    ada.write("team.toml", RUN_SET)
    (ada.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
    assert "32 cells queued" in ada("run", "team.toml").stderr
    assert "nothing to do" in ada("run", "team.toml").stderr, "what is decided is not paid for again"

    board = ada.json("leaderboard", "team")
    passed = {row["profile"]: row["rates"]["counts"]["passed"] for row in board["rows"]}
    assert passed == {"oracle": 16, "noop": 0}
    assert board["run_set"]["state"] == "complete"
    cells = ada.json("cells", "team", "--outcome", "failed", "--limit", "5")
    assert len(cells["cells"]) == 5
    assert cells["after"]
    more = ada.json("cells", "team", "--outcome", "failed", "--limit", "50", "--after", cells["after"])
    assert len(more["cells"]) == 11
    attempt = cells["cells"][0]["attempt"]
    assert "verify" in ada("attempt", "show", attempt).stdout
    assert ada("attempt", "logs", attempt).stdout
    ada("attempt", "show", attempt, "--save", "kept")
    assert list((ada.folder / "kept").iterdir())
    assert "oracle is better" in ada("compare", "team:oracle", "team:noop").stdout
    ada("label", "team", "release")
    assert "release" in ada("label").stdout
    assert "gate missed" in ada("gate", "team", "--fail-under", "strict=0.4", "--junit", "out.xml", code=1).stdout
    assert "<testsuite" in (ada.folder / "out.xml").read_text()
    ada("leaderboard", "team", "--html", "board.html")
    assert "oracle" in (ada.folder / "board.html").read_text()
    assert "team" in ada("status").stdout
    assert ada("history", "oracle").stdout.count("oracle") == 1
    told = [json.loads(line) for line in ada("events", "team", "--json").stdout.splitlines()]
    names = Counter(event["name"] for event in told)
    assert (names["run_set.created"], names["attempt.ended"], names["run_set.complete"]) == (1, 32, 1)
    assert "run_set.complete" in ada("events", "--after", told[-2]["id"]).stdout
    assert not (ada.folder / "home").exists(), "nothing of it was kept on this machine"
    assert ada("status", PROCTOR_SERVER="local").stdout.startswith("No run sets yet")


def test_users_keys_and_roles(cli: Cli, ada: Cli, server: str, tmp_path: Path) -> None:
    url = server.partition("/setup#")[0]
    ada("user", "create", "bob@example.org", "--role", "viewer")
    key = ada("key", "create", "laptop", "--user", "bob@example.org").stdout.strip()
    bob = Desk(folder=tmp_path / "bob")
    bob.folder.mkdir()
    as_bob = {"PROCTOR_SERVER": url, "PROCTOR_API_KEY": key}
    assert "viewer of acme" in bob("whoami", **as_bob).stdout
    assert "[forbidden]" in bob("user", "list", code=2, **as_bob).stderr
    bob.write("team.toml", RUN_SET.replace('"tasks"', '"nothing"'))
    assert "[forbidden]" in bob("run", "team.toml", code=2, **as_bob).stderr
    ada("user", "change", "bob@example.org", "--role", "member")
    assert "[suite-unknown]" in bob("run", "team.toml", code=2, **as_bob).stderr

    ada("key", "create", "twice")
    ada("key", "rotate", "twice")
    assert "Several keys fit 'twice': " in ada("key", "revoke", "twice", code=2).stderr
    fresh = ada("key", "rotate", "laptop", "--overlap-hours", "0").stdout.strip()
    assert "[unauthenticated]" in bob("whoami", code=2, **as_bob).stderr
    assert "member of acme" in bob("whoami", **{**as_bob, "PROCTOR_API_KEY": fresh}).stdout
    ada("user", "change", "bob@example.org", "--disable")
    assert "[unauthenticated]" in bob("whoami", code=2, **{**as_bob, "PROCTOR_API_KEY": fresh}).stderr
    told = ada("audit-log").stdout
    assert [action for action in ("user.created", "key.created", "key.rotated", "user.changed") if action in told] != []
    for secret in (key, fresh):
        assert secret not in told


def test_a_key_is_stored_for_its_users_eyes_alone(cli: Cli, ada: Cli) -> None:
    stored = ada.folder / "config" / "proctor" / "logins.json"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert "Forgot http://" in ada("logout").stdout
    assert "[login-missing]" in ada("whoami", code=2).stderr
    assert "proctor_" not in stored.read_text()


def test_the_link_works_once(cli: Cli, ada: Cli, server: str) -> None:
    again = ada("login", server, "--tenant", "other", "--owner", "eve@example.org", code=2)
    assert "[setup-done]" in again.stderr
    assert "[setup-done]" in cli("setup-link", code=2).stderr


def test_a_run_that_one_looks_away_from_goes_on(cli: Cli, ada: Cli) -> None:
    ada.write("team.toml", RUN_SET)
    (ada.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
    command = [sys.executable, "-m", "proctor", "run", "team.toml"]
    process = subprocess.Popen(command, cwd=ada.folder, env=ada.environment(), stderr=subprocess.PIPE, stdout=-3)
    assert process.stderr is not None
    with process.stderr as printed:
        assert b"queued" in printed.readline()
        time.sleep(1)  # it watches now
        process.send_signal(signal.SIGINT)
        rest = printed.read().decode()
    assert process.wait(timeout=30) == 130
    assert "The server goes on with it. To look: proctor status team" in rest
    deadline = time.monotonic() + 90
    while ada.json("leaderboard", "team")["run_set"]["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(1)
    assert ada.json("leaderboard", "team")["progress"]["decided"] == 32


def test_the_key_of_the_environment_goes_before_the_stored_one(ada: Cli) -> None:
    ada("user", "create", "ci", "--service", "--role", "viewer")
    key = ada("key", "create", "nightly", "--user", "ci").stdout.strip()
    assert ada("whoami", PROCTOR_API_KEY=key).stdout.startswith("ci · viewer of acme")
    assert "[unauthenticated]" in ada("status", code=2, PROCTOR_API_KEY="proctor_bogus").stderr
    assert "[api-key]" in ada("status", code=2, PROCTOR_API_KEY="proctör").stderr


def test_the_key_that_the_how_to_makes_for_ci_runs_run_sets(ada: Cli) -> None:
    text = (ROOT / "docs" / "how-to" / "run-a-server.md").read_text().replace("\\\n", "")
    (line,) = [line for line in text.splitlines() if line.startswith("proctor key create nightly")]
    ada("user", "create", "ci", "--service", "--role", "member")
    key = ada(*line.partition("#")[0].split()[1:]).stdout.strip()
    (ada.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
    ada.write("team.toml", RUN_SET)
    ada("run", "team.toml", PROCTOR_API_KEY=key)
    assert "[forbidden]" in ada("user", "list", code=2, PROCTOR_API_KEY=key).stderr


def test_a_followed_run_waits_for_a_server_that_restarts(cli: Cli, tmp_path: Path) -> None:
    """And whoever starts a second server beside the first is told before anything of it works."""
    port = free_port()
    desk = Desk(folder=tmp_path / "desk")
    desk.folder.mkdir()
    with serving(cli, port=port) as link:
        desk("login", link, "--tenant", "acme", "--owner", "ada@example.org")
        second = cli("serve", "--roles", "api,worker", "--port", str(port), code=2)
        assert "[address]" in second.stderr
        (desk.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
        desk.write("team.toml", RUN_SET)
        command = [sys.executable, "-m", "proctor", "run", "team.toml"]
        run = subprocess.Popen(command, cwd=desk.folder, env=desk.environment(), stderr=subprocess.PIPE, stdout=-3)
        assert run.stderr is not None
        assert b"queued" in run.stderr.readline()
    time.sleep(8)  # longer than the client tries a request
    with run.stderr, serving(cli, port=port):
        assert run.wait(timeout=100) == 0, run.stderr.read().decode()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--server", "nowhere", "status"), 2, "[server-url]"),
        (("status", "--server", "ftp://x"), 2, "[server-url]"),
        (("status", "--server=http://127.0.0.1:1"), 2, "[login-missing]"),
        (("whoami",), 2, "[login-missing]"),
        (("serve", "--roles", "king"), 2, "there are api, planner, worker, relay, operations"),
    ],
)
def test_what_can_t_be_is_told(cli: Cli, arguments: tuple[str, ...], code: int, told: str) -> None:
    assert told in cli(*arguments, code=code).stderr


def test_a_server_that_does_not_answer_is_told(cli: Cli) -> None:
    nobody = {"PROCTOR_SERVER": "http://127.0.0.1:1", "PROCTOR_API_KEY": "x"}
    assert "[server-unreachable]" in cli("status", code=5, **nobody).stderr


def test_what_is_no_server_of_ours_is_told(cli: Cli, tmp_path: Path) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        asked = {"PROCTOR_SERVER": f"http://127.0.0.1:{other.server_port}", "PROCTOR_API_KEY": "x"}
        assert "[server-fault]" in cli("status", code=5, **asked).stderr
        other.shutdown()
