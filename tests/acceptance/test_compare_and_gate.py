"""A baseline is labelled, a change is compared with it, and a gate in CI says in an exit code what follows."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.acceptance.conftest import Cli

pytestmark = pytest.mark.journey

TASK = """\
schema_version = "1.4"
[task]
name = "own/{name}"
[metadata]
difficulty = "easy"
[metadata.proctor]
verification = "snapshot"
[metadata.proctor.local]
tools = ["bash"]
copy = {{}}
"""
RUN_SET = """\
name = "{name}"
suite = "tasks"
[[profiles]]
name = "writer"
agent = "command"
command = "echo {word} > /app/answer"
[execution]
concurrency = 4
"""
TASKS = 6


def task(cli: Cli, name: str, test: str = "") -> None:
    checked = 'if test "$(cat /app/answer 2>/dev/null)" = yes; then r=1; else r=0; fi\n'
    cli.write(f"tasks/{name}/task.toml", TASK.format(name=name))
    cli.write(f"tasks/{name}/instruction.md", f"Write yes to /app/answer ({name}).\n")
    cli.write(f"tasks/{name}/tests/test.sh", test or f"{checked}echo $r > /logs/verifier/reward.txt\n")


def baseline(cli: Cli, tasks: int = TASKS) -> None:
    for place in range(tasks):
        task(cli, f"t{place}")
    cli.write("main.toml", RUN_SET.format(name="main", word="yes"))
    cli("run", "main.toml")


def test_from_a_labelled_baseline_to_a_gate_that_is_missed(cli: Cli) -> None:
    baseline(cli)
    assert "stable" in cli("label", "main", "stable").stdout
    cli.write("change.toml", RUN_SET.format(name="change", word="no"))
    cli("run", "change.toml")

    told = cli("compare", "change", "label:stable").stdout
    assert "change:writer against label:stable:writer · 6 tasks paired" in told
    assert "McNemar, exact: p 0.0312" in told
    assert "label:stable:writer is better" in told
    assert "solved only by label:stable:writer: 6 (own/t0," in told
    assert "cost — for 6 cells and — for 6 cells, difference —" in told
    assert "Only options differs" in told
    (pair,) = cli.json("compare", "change", "label:stable")["pairs"]
    assert (pair["difference"], pair["test"]["p"], pair["unpaired_cells"]) == (-1.0, 0.03125, 0)
    assert [field["field"] for field in pair["fields"]] == ["options.command"]

    missed = cli.json("gate", "change", "--against", "label:stable", code=1)["gate"]
    assert missed["state"] == "missed"
    assert missed["lines"] == [
        "writer: -100.0 points against label:stable:writer, p 0.0312 (alpha 0.05), worse: missed"
    ]
    cli("gate", "change", "--against", "label:stable", "--alpha", "0.001")
    plain = cli.json("gate", "change", "--fail-under", "strict=0.8", "--against", "stable", code=1)["gate"]
    assert "worse: missed" in plain["lines"][-1]
    cli("gate", "main", "--fail-under", "strict=1", "--against", "label:stable")  # itself
    cli("gate", "change", "--fail-under", "graded=0.1", code=1)

    told = cli(
        *("run", "change.toml", "--against", "label:stable", "--junit", "out/junit.xml", "--markdown", "out/s.md"),
        code=1,
        GITHUB_STEP_SUMMARY=str(cli.folder / "page.md"),
    )
    assert "gate missed" in told.stdout
    page = (cli.folder / "page.md").read_text(encoding="utf-8")
    assert page == (cli.folder / "out" / "s.md").read_text(encoding="utf-8")
    assert "## change: gate missed" in page
    assert "| own/t5 | label:stable:writer |" in page
    suite = ET.parse(cli.folder / "out" / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "6", "0")

    history = [(one["name"], one["valid_to"] is None) for one in cli.json("label", "change", "stable")["labels"]]
    assert history == [("stable", False), ("stable", True)]
    cli("gate", "change", "--against", "label:stable")  # the label moved on: it is this run set itself


def test_gaps_leave_a_gate_open_unless_they_cannot_matter(cli: Cli) -> None:
    baseline(cli, tasks=3)
    task(cli, "broken", test="exit 1\n")
    cli.write("g.toml", RUN_SET.format(name="g", word="yes") + "[gate]\nstrict = 0.9\n")
    told = cli("run", "g.toml", "--junit", "junit.xml", code=3)
    assert "gate: writer: strict between 75.0% and 100.0%, gate 90.0%: open" in told.stdout
    suite = ET.parse(cli.folder / "junit.xml").getroot()[0]
    (error,) = suite.iter("error")
    assert "verifier_error (task)" in str(error.get("message"))
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert (properties["strict"], properties["coverage"], properties["gate"]) == ("0.75", "0.75", "open")
    cli("gate", "g", code=3)
    cli("gate", "g", "--fail-under", "strict=0.7")
    cli("gate", "g", "--fail-under", "strict=0.7", "--fail-under", "graded=1", code=3)

    (pair,) = cli.json("compare", "g", "main")["pairs"]
    assert pair["finding"] == "not distinguishable"
    assert [(one["task"], one["side"], one["reason"]) for one in pair["unpaired"]] == [
        ("own/broken", "main:writer", "the task is not in its suite")
    ]
    cli("gate", "g", "--against", "main", "--fail-under", "strict=0.7")


def test_profiles_of_one_run_set_and_several_pairs(cli: Cli) -> None:
    task(cli, "one")
    text = RUN_SET.format(name="two", word="yes").replace(
        "[execution]", '[[profiles]]\nname = "noop"\nagent = "noop"\n[execution]'
    )
    cli.write("two.toml", text)
    cli("run", "two.toml")
    told = cli("compare", "two:writer", "two:noop", "--segments").stdout
    assert ("difficulty" in told, "easy" in told) == (True, True)
    parts = cli.json("compare", "two:writer", "two:noop", "--segments")["segments"]
    assert [(one["field"], one["label"], one["difference"]) for one in parts] == [("difficulty", "easy", 1.0)]
    assert cli.json("compare", "two", "two", "two", "--segments", code=2)["error"]["code"] == "usage"
    told = cli("compare", "two:writer", "two:noop").stdout
    assert "not distinguishable" in told
    assert "no interval from under two tasks" in told
    assert "2 fields differ (agent, options): no claim about the agent" in told
    task(cli, "two")
    cli.write("three.toml", RUN_SET.format(name="three", word="yes").replace('"writer"', '"noop"'))
    cli("run", "three.toml")
    seen = cli.json("compare", "two", "three:noop", "two:writer")
    assert [(pair["a"]["title"], pair["b"]["title"]) for pair in seen["pairs"]] == [
        ("two:noop", "three:noop"),
        ("three:noop", "two:writer"),
    ]
    assert "two:writer has no partner in three:noop" in seen["without_partner"]


def test_errors_say_what_to_do(cli: Cli) -> None:
    task(cli, "one")
    cli.write("r.toml", RUN_SET.format(name="r", word="yes"))
    first = cli("run", "r.toml", "--against", "label:main", code=2).stderr
    assert "label-unknown" in first
    assert cli.json("status")["run_sets"] == []  # nothing was started
    cli("run", "r.toml")
    codes = {
        ("gate", "r"): "gate",
        ("gate", "r", "--fail-under", "strict=80"): "gate",
        ("gate", "r", "--against", "label:nobody"): "label-unknown",
        ("gate", "r", "--against", "nobody"): "run-set-unknown",
        ("gate", "r", "--fail-under", "strict=0.5", "--junit", "r.toml/x.xml"): "report-path",
        ("gate", "r", "--against", "r:writer"): "nothing-to-compare",
        ("compare", "r", "r"): "nothing-to-compare",
        ("compare", "r:writer", "r:other"): "comparison-reference",
        ("compare", "r", "label:"): "comparison-reference",
        ("compare", "r"): "usage",
        ("label", "r"): "usage",
        ("label", "r", "not:one"): "suite-alias",
    }
    for arguments, code in codes.items():
        assert cli.json(*arguments, code=2)["error"]["code"] == code, arguments


def test_a_label_of_the_file_that_is_not_there_yet_leaves_the_gate_open(cli: Cli) -> None:
    task(cli, "one")
    cli.write("r.toml", RUN_SET.format(name="r", word="yes") + '[gate]\nagainst = "label:main"\n')
    first = cli("run", "r.toml", code=3)
    assert "The gate will be open" in first.stderr
    assert "against label:main: No run set has the label 'main': open" in first.stdout
    cli("label", "r", "main")
    assert "it is this run set itself: met" in cli("run", "r.toml").stdout
    bad = RUN_SET.format(name="r", word="yes") + '[gate]\nprofiles = ["nobody"]\nstrict = 1\n'
    cli.write("bad.toml", bad)
    assert "gate.profiles" in cli("run", "bad.toml", code=2).stderr
