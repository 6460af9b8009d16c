"""The structured log: searched by who and what, followed, kept apart; and nothing planted is ever in it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import ROOT, Cli, Desk, serving
from tests.acceptance.test_traces import Caller, logged_in, until

pytestmark = [pytest.mark.slow, pytest.mark.server]

RUN_SET = """
name = "team"
suite = "tasks"
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "talker"
agent = "command"
command = "echo Grace Hopper; echo grace.hopper@navy.example; echo password=planted-pass-0; exit 0"
"""
PLANTED = {
    "an e-mail address": "ada.lovelace@planted.example",
    "a person's name": "Grace Hopper",
    "an address an agent printed": "grace.hopper@navy.example",
    "what an agent printed": "planted-pass-0",
    "a password in a query": "planted-pass-1",
    "a bad key": "proctor_aaaaaaaaaaaaaaaaaaaaaaaaaa_bbbbbbbbbb_" + "S3cretS3cret" * 3 + "1234567",
    "a word as a key": "hunter2-planted",
    "a value of a body": "planted-body-value",
    "a database's password": "planted-db-pass",
    "a collector's header": "planted-collector-key",
    "a name in a path": "Edsger-Dijkstra",
    "a secret of a run set": "planted-run-set-secret",
}
"""What no line may hold, by what it is."""


@contextlib.contextmanager
def refused(code: int) -> Iterator[None]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        yield
    with caught.value as error:
        assert error.code == code, error.read()


def kept(home: Path) -> dict[str, str]:
    """Every stored line's file with its text."""
    return {str(path.relative_to(home)): path.read_text() for path in (home / "objects").glob("*/logs/**/*.jsonl")}


def test_nothing_planted_is_ever_logged(cli: Cli, tmp_path: Path) -> None:
    settings = {
        "PROCTOR_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "PROCTOR_OTLP_HEADERS": f"x-key={PLANTED['a collector' + chr(39) + 's header']}",
        "PROCTOR_LOG_LEVEL": "debug",
    }
    with serving(cli, **settings) as link:
        url, _, token = link.partition("/setup#")
        desk = Desk(folder=tmp_path / "desk")
        desk.folder.mkdir()
        desk("login", link, "--tenant", "acme", "--owner", PLANTED["an e-mail address"])
        desk("login", f"{url}/setup#{'x' * 43}", "--tenant", "acme", "--owner", "eve@planted.example", code=2)
        (desk.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
        desk.write("team.toml", RUN_SET)
        desk("run", "team.toml", "--limit", "4", code=3)
        ask = Caller(desk, url)
        for key in (PLANTED["a bad key"], PLANTED["a word as a key"], f"{ask.key}x"):
            with refused(401):
                ask("GET", "me", Authorization=f"Bearer {key}")
        ask("GET", f"run-sets?name={PLANTED['a password in a query']}")
        with refused(422):
            ask("GET", f"run-sets?name=x&password={PLANTED['a password in a query']}")
        with refused(404):
            ask("GET", f"run-sets/{PLANTED['a name in a path']}")
        with refused(404):
            ask("GET", "logs?user=ada@nowhere.example")
        with refused(422):
            ask("POST", "run-sets", {"spec": {"name": PLANTED["a value of a body"]}, "spec_digest": "x"})
        with refused(422):
            ask("POST", "users", {"name": "Grace Hopper", "role": "viewer"})
        with refused(422):
            ask("GET", "series/Grace%20Hopper%00/history")
        desk("user", "create", "grace.hopper@navy.example", "--role", "member")
        until(lambda: "user.created" in desk("audit-log").stdout, "the user is made")
        time.sleep(3)
    told = (cli.folder / "server.log").read_text()
    stored = kept(cli.home)
    secrets = {**PLANTED, "the setup token": token, "the issued key": ask.key, "who tried": "eve@planted.example"}
    for what, text in secrets.items():
        assert text not in told, f"{what} is on standard error"
        assert [name for name, lines in stored.items() if text in lines] == [], what
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    events = {line.get("event") for line in lines}
    assert {"request", "access.refused", "attempt.started", "attempt.settled", "run_set.created"} <= events
    tenants = {name.split("/")[1] for name in stored}
    assert len(tenants) == 2
    assert "operators" in tenants
    (tenant,) = tenants - {"operators"}
    for name, text in stored.items():
        for line in map(json.loads, text.splitlines()):
            assert len(line["trace_id"]) == 32
            assert line.get("tenant") == (tenant if tenant in name else None)


def test_lines_are_found_by_who_and_what(cli: Cli, tmp_path: Path) -> None:
    with serving(cli) as link:
        desk = logged_in(cli, link, tmp_path / "desk")
        (desk.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
        desk.write("team.toml", RUN_SET)
        command = [sys.executable, "-m", "proctor", "logs", "--follow", "--json", "--since", "1m"]
        with subprocess.Popen(command, cwd=desk.folder, env=desk.environment(), stdout=subprocess.PIPE) as following:
            desk("run", "team.toml", "--limit", "4", code=3)
            time.sleep(5)
            following.terminate()
            followed = [json.loads(line) for line in following.communicate()[0].decode().splitlines()]
        assert len({line["id"] for line in followed}) == len(followed), "each line once"
        settled = [line for line in followed if line["event"] == "attempt.settled"]
        assert len(settled) == 4

        attempt = settled[0]["fields"]["attempt"]
        of_attempt = desk.json_lines("logs", "--attempt", attempt[:13])
        assert [line["event"] for line in of_attempt][:2] == ["attempt.started", "attempt.settled"]
        assert of_attempt[1]["fields"]["outcome"]
        assert of_attempt[0]["fields"]["worker"] == of_attempt[1]["fields"]["worker"]
        of_run_set = desk.json_lines("logs", "--run-set", "team")
        assert {line["fields"]["run_set"] for line in of_run_set} == {settled[0]["fields"]["run_set"]}
        assert {"run_set.created", "attempt.settled"} <= {line["event"] for line in of_run_set}
        assert [line["at"] for line in of_run_set] == sorted(line["at"] for line in of_run_set)
        of_model = desk.json_lines("logs", "--model", "talker")
        assert {line["fields"].get("profile", "talker") for line in of_model} == {"talker"}
        assert any(line["event"] == "attempt.settled" for line in of_model)
        of_user = desk.json_lines("logs", "--user", "ada@example.org", "--limit", "1000")
        assert {"request", "attempt.settled", "run_set.created"} <= {line["event"] for line in of_user}
        assert len(desk.json_lines("logs", "--limit", "3")) == 3
        assert "attempt.settled" in desk("logs", "--text", attempt.upper()).stdout
        assert desk.json_lines("logs", "--level", "warning", "--run-set", "team") == []
        assert "[run-set-unknown]" in desk("logs", "--run-set", "nothing", code=2).stderr
        assert "[attempt-unknown]" in desk("logs", "--attempt", "0" * 12, code=2).stderr
        assert "[user-unknown]" in desk("logs", "--user", "eve@example.org", code=2).stderr
        assert "[logs-wanted]" in desk("logs", "--level", "loud", code=2).stderr
        assert "2h, or 2026" in desk("logs", "--since", "yesterday", code=2).stderr


def test_a_run_on_this_machine_is_searched_as_well(cli: Cli) -> None:
    (cli.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
    cli("run", "tasks", "--agent", "oracle", "--limit", "2", code=3)
    lines = cli.json_lines("logs", "--model", "oracle")
    assert [line["event"] for line in lines].count("attempt.settled") == 2
    assert len({line["trace_id"] for line in lines}) == 1
    (attempt, *_) = [line["fields"]["attempt"] for line in lines if line["event"] == "attempt.settled"]
    assert len(cli.json_lines("logs", "--attempt", attempt)) == 2
    assert cli("logs", "--text", "no such words").stdout == ""


def test_a_run_set_s_secret_is_in_no_line(cli: Cli) -> None:
    secret = PLANTED["a secret of a run set"]
    (cli.folder / "tasks").symlink_to(ROOT / "examples" / "basics")
    cli.write(
        "run.toml",
        f"""
name = "secret"
suite = "tasks"
[secrets]
names = ["MY_TOKEN"]
[[profiles]]
name = "{secret}"
agent = "command"
command = "echo $TOKEN"
env = {{ TOKEN = "${{MY_TOKEN}}" }}
""",
    )
    done = cli("run", "run.toml", "--limit", "1", code=3, MY_TOKEN=secret, PROCTOR_LOG_LEVEL="debug")
    stored = kept(cli.home)
    assert "attempt.settled" in done.stderr
    assert stored
    logged = [line for line in done.stderr.splitlines() if line.startswith("{") and "attempt.s" in line]
    assert [line for line in [*logged, *stored.values()] if secret in line] == []
    assert [line for line in logged if "[removed]" in line], "the profile's name was the secret"
