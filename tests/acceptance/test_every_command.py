"""Every command against a server: what reads says the same as on the server's own machine, what changes changes it.

A command that is in no table here fails the tests.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from proctor.cli.main import app
from tests.acceptance.changing_data import datasets, derivations, evaluators, jobs, prompts, streams
from tests.acceptance.conftest import Cli, Desk, serving
from tests.acceptance.places import Place
from tests.acceptance.test_imports import line, results
from tests.acceptance.test_reclassify import policy
from tests.acceptance.test_regrade import RUN_SET, task

pytestmark = [pytest.mark.slow, pytest.mark.server]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    folders = [Path(tempfile.mkdtemp(prefix="proctor-acceptance-")) for _ in range(2)]
    for folder in folders:
        folder.chmod(0o755)
    machine, desk = Cli(folders[0]), Desk(folders[1])
    with serving(machine) as link:
        desk("login", link, "--tenant", "acme", "--owner", "ada@example.org")
        task(desk, "asked", "no")
        task(desk, "kept", "yes")
        desk.write("examples.jsonl", '{"expected": 1}\n{"expected": "one"}\n')
        desk.write("r.toml", RUN_SET.replace("echo yes >", "echo yes | tee"))
        desk("run", "r.toml")
        desk("label", "r", "release")
        for rows in ('{"id": "a", "input": "x"}', '{"id": "a", "input": "y", "tags": ["t"]}\n{"input": "z"}'):
            desk.write("shown.jsonl", f"{rows}\n")
            desk("dataset", "import", "shown.jsonl", "--name", "shown")
        desk.write("outputs.jsonl", '{"id": "a", "output": "y"}\n')
        desk("evaluate", "shown", "--outputs", "outputs.jsonl", "-e", "contains", "--name", "judged")
        desk("stream", "open", "open-one", "-e", "contains")
        desk.write("sent.jsonl", '{"id": "a", "expected": "x", "output": "x"}\nnonsense\n')
        desk("stream", "append", "open-one", "sent.jsonl")
        (failed, *_) = desk.json("cells", "r", "--outcome", "failed")["cells"]
        yield Place(machine, desk, failed["attempt"])
    machine("down")
    for folder in folders:
        shutil.rmtree(folder)


READING: dict[str, list[tuple[str, ...]]] = {
    "status": [(), ("r",)],
    "leaderboard": [(), ("r",)],
    "history": [("writer",), ("nothing",)],
    "compare": [("r:writer", "r:noop"), ("r:writer", "gone")],
    "label": [()],
    "gate": [("r", "--fail-under", "strict=0.4"), ("r",), ("r", "--against", "label:gone")],
    "cells": [("r",), ("r", "--outcome", "failed", "--limit", "1"), ("r", "--profile", "gone"), ("gone",)],
    "regrade": [("r", "--recheck", "--dry-run"), ("r", "--dry-run", "--suite", "tasks"), ("gone", "--dry-run")],
    "run": [("r.toml", "--dry-run"), ("tasks", "--agent", "noop", "--dry-run")],
    "attempt show": [("ATTEMPT",), ("00000000",)],
    "attempt steps": [("00000000",)],
    "suite list": [()],
    "suite show": [("gone",)],
    "suite alias": [()],
    "dataset list": [()],
    "dataset show": [("shown",), ("shown@1.0.0",), ("gone",)],
    "dataset examples": [
        ("shown",),
        ("shown", "--tag", "t", "--limit", "1"),
        ("shown", "--split", "test"),
        ("gone",),
        ("shown", "--query", "tag=t -note=*"),
        ("shown", "--query", "is:odd"),
    ],
    "dataset quality": [("shown",), ("shown@1.0.0",), ("gone",)],
    "dataset diff": [("shown@1.0.0", "shown"), ("shown", "gone")],
    "evaluators list": [(), ("--type", "bleu")],
    "evaluators show": [("bleu",), ("gone",)],
    "evaluators suggest": [("examples.jsonl",), ("shown",), ("gone",)],
    "prompts list": [()],
    "prompts show": [("gone",)],
    "samples list": [()],
    "job list": [(), ("--state", "paused")],
    "job show": [("judged",), ("gone",)],
    "job results": [("judged",), ("judged", "--status", "scored"), ("gone",)],
    "stream show": [("open-one",), ("judged",), ("gone",)],
    "stream refusals": [("open-one",), ("gone",)],
    "sql": [("SELECT example, status, time FROM results ORDER BY row",), ("SELECT gone FROM results",)],
    "job compare": [("gone", "other")],
    "job segments": [("gone",), ("gone", "--by", "mood")],
    "job failures": [("gone",)],
    "job distribution": [("gone",)],
    "job repeats": [("gone", "--k", "1,2")],
    "job agreement": [("gone",)],
    "job history": [("gone",)],
    "job report": [("gone", "--to", "report.md"), ("gone", "--to", "report.txt")],
    "usage": [
        ("--since", "2026-01-01", "--until", "2126-01-01"),
        ("--since", "2026-01-01", "--until", "2126-01-01", "--by", "user"),
        ("--since", "2126-01-01", "--until", "2026-01-01"),
        ("--by", "mood"),
    ],
    "ledger": [
        (),
        ("--run-set", "r", "--model", "openai/gpt-4o", "--end", "done", "--limit", "1"),
        ("--run-set", "gone"),
        ("--end", "well"),
    ],
    "agents": [()],
    "provider list": [()],
    "profile list": [(), ("r",)],
    "profile show": [("writer", "--run-set", "r"), ("gone",)],
}
"""What reads, and with which words."""


@pytest.mark.parametrize(
    ("command", "words"), [(command, words) for command, cases in READING.items() for words in cases]
)
def test_reading_says_the_same_from_afar(place: Place, command: str, words: tuple[str, ...]) -> None:
    arguments = [*command.split(), *place.filled(words)]
    here, there = place.here(*arguments), place.there(*arguments)
    for _, told in (here, there):
        told.get("status", {}).pop("counted_at", None)  # each was counted when it was asked
    assert there == here


def test_a_suite_a_log_and_steps_are_the_same_from_afar(place: Place) -> None:
    suite = place.there("suite", "list")[1]["suites"][0]["suite_id"]
    assert place.there("suite", "show", suite) == place.here("suite", "show", suite)
    words = [sys.executable, "-m", "proctor", "attempt", "logs", place.attempt]
    machine = place.machine.environment(PROCTOR_TENANT="acme")
    here, there = (subprocess.check_output(words, env=env) for env in (machine, place.desk.environment()))
    assert here == there != b""
    words = [sys.executable, "-m", "proctor", "attempt", "steps", place.attempt, "--json"]
    here, there = (subprocess.check_output(words, env=env) for env in (machine, place.desk.environment()))
    assert here == there
    assert [json.loads(step)["step_id"] for step in there.splitlines()][:2] == [1, 2]


# --- what changes ---------------------------------------------------------------------------------------------------


def exports(place: Place) -> None:
    here, there = place.here("export", "r", "--to", "here"), place.there("export", "r", "--to", "there")
    folders = [place.desk.folder / name for name in ("here", "there")]
    assert here[0] == there[0] == 0
    assert {**there[1], "folder": ""} == {**here[1], "folder": ""}
    assert there[1]["folder"] == str(folders[1])
    trees = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) for folder in folders]
    assert trees[0] == trees[1] != []
    rates = [json.loads((folder / "proctor.json").read_text()) for folder in folders]
    assert rates[0]["profiles"] == rates[1]["profiles"]
    job = json.loads((folders[1] / "config.json").read_text())
    assert (job["job_name"], job["jobs_dir"]) == ("there", str(place.desk.folder))
    assert place.there("export", "r", "--to", "there")[1]["error"]["code"] == "folder-taken"
    assert place.there("export", "gone", "--to", "new")[1]["error"]["code"] == "run-set-unknown"
    assert not list(place.desk.folder.glob(".proctor-partial*"))


def regrades(place: Place) -> None:
    task(place.desk, "asked", "yes")
    code, report = place.there("regrade", "r", "--suite", "tasks")
    assert (code, report["regraded"]) == (0, 2)
    assert [(flip["before"], flip["after"]) for one in report["tasks"] for flip in one["flips"]] == [(False, True)]
    code, again = place.there("regrade", "r", "--recheck", "--task", "own/kept")
    assert (code, again["regraded"], again["failed"]) == (0, 2, {})
    assert "2 of 2 cells graded" in place.desk("regrade", "r", "--recheck", "--task", "own/kept").stderr
    task(place.desk, "asked", "no")


def reclassifies(place: Place) -> None:
    place.desk.write("same.toml", policy("ours"))
    shown = place.there("reclassify", "r", "--policy", "same.toml")
    assert (shown[0], shown[1]["pinned"], shown[1]["owed"]) == (0, False, None)
    assert place.here("reclassify", "r", "--policy", "same.toml") == shown
    moved = place.there("reclassify", "r", "--policy", "same.toml", "--yes")
    assert (moved[0], moved[1]["pinned"], moved[1]["owed"]) == (0, True, 0)
    assert place.there("status", "r")[1]["status"]["run_set"]["policy_version"].startswith("ours@")
    place.desk.write("bad.toml", "nonsense")
    here, there = (ask("reclassify", "r", "--policy", "bad.toml") for ask in (place.here, place.there))
    assert there == here


def audits(place: Place) -> None:
    here, there = place.here("audit", "r"), place.there("audit", "r")
    assert there[0] == here[0] == 0
    assert {**there[1]["audit"], "leaked": {}} == {**here[1]["audit"], "leaked": {}}
    place.desk.write("list.json", '["writer", "gone"]')
    code, found = place.there("audit", "r", "--profiles", "list.json")
    assert (code, found["audit"]["denominators"][0]["source"]) == (1, "list.json")
    place.there("audit", "r", "--profiles", "list.json", "--apply", "--checksums")
    assert json.loads((place.desk.folder / "list.json").read_text()) == ["noop", "writer"]
    place.desk.write("rules.toml", "[[variants]]\npattern = 'x'\nprofile = 'gone'\n")
    here, there = (ask("audit", "r", "--rules", "rules.toml") for ask in (place.here, place.there))
    assert there == here


def imports(place: Place) -> None:
    task(place.desk, "t0", "yes")
    results(place.desk, line(), line(profile="unheard-of"))
    code, report = place.there("import", "results")
    assert (code, report["attempts"], report["linked"], report["unlinked"]) == (3, 2, 1, 1)
    assert place.there("import", "results") == (code, report), "the same again changes nothing"
    assert [row["name"] for row in place.there("status")[1]["run_sets"]].count("theirs") == 1
    results(place.desk, line(rewards={"reward": "x"}))
    here, there = (ask("import", "results") for ask in (place.here, place.there))
    assert there[1]["error"]["where"] == "attempts.jsonl: line 1"
    assert there[1]["error"]["message"] == here[1]["error"]["message"]
    shutil.rmtree(place.desk.folder / "tasks" / "t0")


def controls(place: Place) -> None:
    place.desk.write("again.toml", RUN_SET.replace('"r"', '"again"'))
    assert place.there("run", "again.toml", "--fresh")[0] == 0
    assert place.there("pause", "again")[1]["error"]["code"] == "run-set-ended"
    assert place.there("cancel", "again")[1]["error"]["code"] == "run-set-ended"
    assert place.there("resume", "again")[0] == 0
    assert place.there("unblock", "provider", "acme") == place.here("unblock", "provider", "acme")
    assert place.there("run", "again.toml", "--only", "owed")[0] == 0


def suites(place: Place) -> None:
    code, made = place.there("suite", "import", "tasks", "--label", "mine")
    assert (code, made["suite"]["row"]["aliases"]) == (0, ["mine"])
    digests = {one["name"]: one["content_digest"] for one in made["suite"]["tasks"]}
    place.desk.write(
        "dataset.toml",
        '[dataset]\nname = "own/one"\nversion = "1"\n'
        f'[[tasks]]\nname = "own/kept"\ndigest = "sha256:{digests["own/kept"]}"\n',
    )
    code, of_dataset = place.there("suite", "import", "dataset.toml", "--tasks", "tasks", "--label-dataset")
    assert (code, [one["name"] for one in of_dataset["suite"]["tasks"]]) == (0, ["own/kept"])
    assert of_dataset["suite"]["row"]["aliases"] == ["own/one@1"]
    assert place.there("suite", "alias", "other", "mine")[0] == 0


def states(place: Place) -> None:
    shell = [sys.executable, "-m", "proctor", "task", "shell", "tasks/asked", "--after", place.attempt, "--json"]
    done = subprocess.run(
        shell, cwd=place.desk.folder, env=place.desk.environment(), input="cat answer\n", capture_output=True, text=True
    )
    assert json.loads(done.stdout)["stdout"] == "yes\n", done.stderr
    place.desk("attempt", "show", place.attempt, "--save", "kept")
    assert list((place.desk.folder / "kept").iterdir())


def receipts(place: Place) -> None:
    place.desk("export", "r", "--to", "for-a-receipt")
    rows = place.there("operation", "list", "--state", "done")[1]["operations"]
    exported = next(one["id"] for one in rows if one["kind"] == "export")
    assert "done · 4 trials written" in place.desk("operation", "show", exported).stdout
    assert place.there("operation", "show", exported, "--follow")[1]["result"]["trials"] == 4
    url = place.desk("operation", "link", exported).stdout.strip()
    import urllib.request

    with urllib.request.urlopen(url) as fetched:
        assert fetched.headers["Content-Type"] == "application/gzip"
        assert fetched.read(2) == b"\x1f\x8b"
    assert place.there("operation", "cancel", exported)[1]["error"]["code"] == "operation-ended"
    assert place.here("operation", "list")[1]["error"]["code"] == "login-missing"


def pushes(place: Place) -> None:
    """What was run on the desk itself, with its own data folder, moves to the server."""
    laptop = {**place.desk.environment(), "PROCTOR_SERVER": "local"}
    place.desk.write("own.toml", RUN_SET.replace('"r"', '"own"').replace("echo yes >", "echo yes | tee"))
    run = [sys.executable, "-m", "proctor", "run", "own.toml"]
    subprocess.run(run, cwd=place.desk.folder, env=laptop, capture_output=True, check=True)
    here = json.loads(
        subprocess.check_output(
            [sys.executable, "-m", "proctor", "leaderboard", "own", "--json"], cwd=place.desk.folder, env=laptop
        )
    )
    code, report = place.there("push", "own")
    assert (code, report["new"], report["known"], report["run_set"]["state"]) == (0, 4, 0, "complete")
    assert report["objects"] > 0
    code, again = place.there("push", "own")
    assert (code, again["new"], again["known"], again["objects"]) == (0, 0, 4, 0)
    assert "own.pushed: 0 attempts new, 4 there already" in place.desk("push", "own").stdout

    there = place.there("leaderboard", "own.pushed")[1]
    counts = [{row["profile"]: row["rates"]["counts"] for row in board["rows"]} for board in (here, there)]
    assert counts[0] == counts[1]
    reasons = {reason for row in there["rows"] for reason in row["reasons"]}
    assert "pushed by ada@example.org: nothing here saw it run" in reasons
    (cell, *_) = place.there("cells", "own.pushed", "--profile", "writer")[1]["cells"]
    assert place.desk("attempt", "logs", cell["attempt"]).stdout == "yes\n"
    assert "state.tar" in place.desk("attempt", "show", cell["attempt"]).stdout
    assert place.there("regrade", "own.pushed", "--recheck")[1]["regraded"] == 4, "its states are there too"
    assert place.there("export", "own.pushed", "--to", "pushed-job")[1]["trials"] == 4
    assert place.there("audit", "own.pushed", "--checksums")[1]["findings"] == 0
    assert place.here("push", "own")[1]["error"]["code"] == "login-missing"
    assert "--server local" in place.there("push", "nosuch")[1]["error"]["remedy"]
    subprocess.run([sys.executable, "-m", "proctor", "down"], cwd=place.desk.folder, env=laptop, check=True)


def budgets(place: Place) -> None:
    """What the tenant may spend, by its owner; what it may use, by the installation's administrator."""
    assert place.desk("budget").stdout == "No budget.\n"
    assert place.desk("budget", "250.50").stdout == "250.50 USD a month.\n"
    assert place.there("budget")[1] == {"budget_month_nano": 250_500_000_000}
    code, told = place.there("budget", "much")
    assert (code, told["error"]["where"]) == (2, "AMOUNT")
    assert place.desk("budget", "none").stdout == "No budget.\n"
    assert place.desk("budget", "--user", "ada@example.org", "7").stdout == "7.00 USD a month.\n"
    assert place.there("budget", "--user", "ada@example.org")[1] == {"user": "ada@example.org", "month_nano": 7 * 10**9}
    assert place.there("budget")[1] == {"budget_month_nano": None}, "the tenant's is another"
    assert place.desk("budget", "--user", "ada@example.org", "none").stdout == "No budget.\n"
    assert place.there("budget", "--user", "nobody@example.org", "7")[1]["error"]["code"] == "user-unknown"

    limits = ["--evaluations", "1", "--cost", "20", "--storage-gb", "3", "--sandboxes", "4"]
    told_quota = place.desk("tenant", "quota", "acme", *limits).stdout
    assert told_quota == "acme: 1 evaluation a day · 20.00 USD a month · 3,000,000,000 bytes · 4 at once in sandboxes\n"
    code, told = place.there("quota")
    assert (code, told["over"], told["quota"]["sandboxes"]) == (0, ["evaluations_per_day"], 4)
    (line,) = [line for line in place.desk("quota").stdout.splitlines() if "evaluations a day" in line]
    assert line.split()[-1] == "over"
    assert place.desk("tenant", "quota", "acme").stdout == told_quota, "to look changes nothing"
    fewer = place.desk("tenant", "quota", "acme", "--evaluations", "none", "--sandboxes", "9").stdout
    assert fewer == "acme: 20.00 USD a month · 3,000,000,000 bytes · 9 at once in sandboxes\n"
    assert place.there("tenant", "quota", "acme", "--sandboxes", "many")[1]["error"]["where"] == "--sandboxes"
    lifted = place.desk(
        "tenant", "quota", "acme", "--cost", "none", "--storage-gb", "none", "--sandboxes", "none"
    ).stdout
    assert lifted == "acme: no limits\n"
    assert place.there("quota")[1]["over"] == []
    assert place.there("tenant", "quota", "nobody")[1]["error"]["code"] == "tenant-unknown"
    assert place.here("quota")[1]["error"]["code"] == "login-missing"

    assert place.desk("tenant", "list").stdout == "acme\n"
    assert [row["key"] for row in place.there("tenant", "usage")[1]["rows"]] == ["acme"]
    by_user = place.desk("usage", "--by", "user").stdout
    assert "ada@example.org" in by_user
    assert place.desk("usage", "--csv").stdout.startswith("key,name,attempts,sandbox_sec,cost_nano,unpriced\n")


def checks(place: Place) -> None:
    """Tasks are certified on the server's machine, and the certificate is there for whoever asks."""
    code, told = place.there("suite", "check", "tasks", "--task", "kept")
    (checked,) = told["tasks"]
    expected = {"certified": 0, "refused": 1, "not_decided": 3}[checked["verdict"]]
    assert (code, checked["name"], checked["skipped"]) == (expected, "own/kept", False)
    shown = place.here("suite", "show", told["suite_id"])[1]
    assert shown["certificates"][checked["content_digest"]]["verdict"] == checked["verdict"]
    assert place.there("suite", "check", "tasks", "--task", "gone")[1]["error"]["code"] == "nothing-to-check"
    assert place.there("suite", "check", "nosuch")[1]["error"]["code"] == "suite-unknown"


def scripts(place: Place) -> None:
    """A scripted agent's file is read here and sent; a server is never made to read one of its own."""
    place.desk.write("answers.toml", '[tasks."own/kept"]\ncommands = ["echo sent"]\n')
    profile = '[[profiles]]\nname = "writer"\nagent = "scripted"\nscript = "answers.toml"\n'
    place.desk.write("s.toml", f'name = "s"\nsuite = "tasks"\n{profile}')
    code, board = place.there("run", "s.toml")
    assert (code, board["rows"][0]["rates"]["coverage"]) == (0, 1.0)
    cells = place.there("cells", "s")[1]["cells"]
    printed = [place.desk("attempt", "logs", cell["attempt"]).stdout for cell in cells]
    assert sorted(printed) == ["", "sent\n"]
    place.desk.write("s.toml", f'name = "s"\nsuite = "tasks"\n{profile}'.replace("answers", "gone"))
    code, told = place.there("run", "s.toml")
    assert (code, told["error"]["code"]) == (2, "profile-invalid")
    assert "gone.toml" in told["error"]["where"]


CHANGING: dict[str, Callable[[Place], None]] = {
    "export": exports,
    "regrade": regrades,
    "reclassify": reclassifies,
    "audit": audits,
    "import": imports,
    "pause": controls,
    "suite import": suites,
    "task shell": states,
    "push": pushes,
    "budget": budgets,
    "suite check": checks,
    "run": scripts,
    "operation list": receipts,
    "dataset import": datasets,
    "dataset filter": derivations,
    "evaluators register": evaluators,
    "prompts add": prompts,
    "evaluate": jobs,
    "stream open": streams,
}
"""What changes something there, or writes something here, by one of the commands that are asked."""
ALSO: frozenset[str] = frozenset(
    {
        "resume",
        "cancel",
        "unblock",
        "operation show",
        "operation link",
        "operation cancel",
        "attempt logs",
        *(f"dataset {name}" for name in ("merge", "relabel", "dedupe", "sample", "split", "export")),
        "evaluators try",
        *("samples add", "samples delete"),
        *(f"job {name}" for name in ("pause", "resume", "cancel", "delete", "hold", "release", "retention")),
        *(f"stream {name}" for name in ("append", "feed", "close")),
        "quota",
        "tenant quota",
        "tenant list",
        "tenant usage",
    }
)
"""Asked by one of those above; ``attempt logs`` by ``test_a_suite_and_a_log_are_the_same_from_afar``."""


@pytest.mark.parametrize("command", CHANGING)
def test_changing_changes_the_server(place: Place, command: str) -> None:
    CHANGING[command](place)


# --- what is of this machine -----------------------------------------------------------------------------------------

LOCAL: dict[str, tuple[str, ...]] = {
    "init": ("tasks", "--file", "new.toml"),
    "doctor": (),
    "gc": ("--dry-run",),
    "down": (),
    "agents prepare": ("gemini-cli",),
    "task new": ("mine",),
    "task try": ("tasks/kept", "--solution", "noop"),
    "database status": (),
    "database bootstrap-sql": (),
    "power": ("--items", "100"),
}
"""Works here, whatever server is named."""
OF_SERVERS: frozenset[str] = frozenset(
    {
        *("up", "serve", "setup-link", "login", "logout", "whoami", "audit-log", "tenant create", "events", "logs"),
        *("user list", "user create", "user change", "key list", "key create", "key rotate", "key revoke"),
        *("secret set", "secret list", "secret remove", "secret rotate"),
    }
)
"""``test_server.py``, ``test_secrets.py`` and ``test_logs.py`` have them."""
OF_BACKUPS = {"backup create", "backup verify", "backup restore"}
"""Of this machine's data folder alone; ``test_backup.py`` has them."""
REFUSED: frozenset[str] = frozenset({"database upgrade"})
"""What can't be done here without one's own database."""


@pytest.mark.parametrize("command", LOCAL)
def test_what_is_of_this_machine_asks_no_server(place: Place, command: str) -> None:
    nobody = {"PROCTOR_SERVER": "http://127.0.0.1:1", "PROCTOR_API_KEY": "x"}
    words = [*command.split(), *LOCAL[command]]
    done = subprocess.run(
        [sys.executable, "-m", "proctor", *words],
        cwd=place.desk.folder,
        env=place.desk.environment(**nobody),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "server" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr


def test_every_command_is_in_a_table() -> None:
    names = set()
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        below = {f"{name} {one}" for one in getattr(command, "commands", {})}
        is_own = not below or getattr(command, "invoke_without_command", False)
        names |= below | ({name} if is_own else set())
    assert names == {*READING, *CHANGING, *ALSO, *LOCAL, *OF_SERVERS, *OF_BACKUPS, *REFUSED}
