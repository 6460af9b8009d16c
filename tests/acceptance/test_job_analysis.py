"""What the results of jobs say, as a user asks: compared, parted, told why they failed; mistakes are told by name."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.conftest import Cli


def judged(cli: Cli, name: str, right: int, *evaluators: str) -> None:
    """A job over twelve examples of two repeats, of which so many are right."""
    lines = [
        {"id": f"e{n}", "repeat": repeat, "output": "yes" if n < right else "yet"}
        for n in range(11)
        for repeat in (0, 1)
    ]
    lines.append({"id": "e11", "repeat": 0, "status": "refused"})
    cli.write(f"{name}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    by = [word for one in evaluators or ("exact-match",) for word in ("-e", one)]
    cli("evaluate", "answers", "--outputs", f"{name}.jsonl", "--name", name, *by)


@pytest.mark.journey
@pytest.mark.timeout(300)  # a score of commands, each a process
def test_two_jobs_are_compared_and_a_regression_is_an_exit_code(cli: Cli) -> None:
    examples = [
        {"id": f"e{n}", "input": "?", "expected": "yes", "tags": ["even" if n % 2 == 0 else "[bold]odd"]}
        for n in range(12)
    ]
    cli.write("answers.jsonl", "".join(json.dumps(one) + "\n" for one in examples))
    cli("dataset", "import", "answers.jsonl", "--name", "answers")
    judged(cli, "base", 10, "exact-match", "edit-distance")
    judged(cli, "new", 2, "exact-match", "edit-distance")
    _comparing(cli)
    _looking(cli)


@pytest.mark.journey
@pytest.mark.timeout(300)  # a score of commands, each a process
def test_a_report_is_written_once_and_mistakes_are_told_by_name(cli: Cli) -> None:
    examples = [{"id": f"e{n}", "input": "?", "expected": "yes"} for n in range(12)]
    cli.write("answers.jsonl", "".join(json.dumps(one) + "\n" for one in examples))
    cli("dataset", "import", "answers.jsonl", "--name", "answers")
    judged(cli, "base", 10)
    judged(cli, "new", 2)
    assert "written: report.html" in cli("job", "report", "new", "base", "--to", "report.html").stdout
    page = (cli.folder / "report.html").read_text()
    assert "Comparison" in page
    assert "<details><summary>SQL</summary>" in page
    assert cli.json("job", "report", "new", "--to", "report.html", code=2)["error"]["code"] == "file-taken"
    assert (cli.folder / "report.html").read_text() == page
    _mistakes(cli)


def _comparing(cli: Cli) -> None:
    told = cli.json("job", "compare", "new", "base", "--margin", "0.05", code=1)["comparison"]
    assert told["regression"] is True
    assert [one["evaluator"] for one in told["evaluators"]] == ["exact-match", "edit-distance"]
    exact = told["evaluators"][0]
    assert (exact["examples"], exact["left_out"]["neither"], exact["difference"]["worse"]) == (11, 1, 8)
    words = ("job", "compare", "new", "base", "-e", "exact-match", "--moved", "3", "--after", "1")
    assert [one["example"] for one in cli.json(*words)["moved"]] == ["e3", "e4", "e5"]
    shown = cli(*words).stdout
    assert "better on 0, worse on 8; detectable at 80 % power: 0." in shown
    assert "left out: 1 scored in neither" in shown
    assert "regression" not in shown


def _looking(cli: Cli) -> None:
    assert "[bold]odd" in cli("job", "segments", "new", "--by", "tag").stdout
    failed = cli("job", "failures", "new").stdout
    assert "4 results without a score" in failed
    assert "e11" in failed
    assert "22 scores from 0.0000 to 1.0000" in cli("job", "distribution", "new").stdout
    repeats = cli("job", "repeats", "new", "--k", "1, 2").stdout
    assert "0.1818" in repeats
    assert "neither 0 nor 1" in repeats
    assert "Krippendorff's alpha" in cli("job", "agreement", "new", "--evaluators", "exact-match,edit-distance").stdout
    series = cli.json("job", "history", "new", "base")["series"]
    assert [moment["job"]["name"] for moment in series[0]["moments"]] == ["base", "new"]


def _mistakes(cli: Cli) -> None:
    for words, code, where in (
        (("compare", "new", "new"), "job-invalid", "against"),
        (("segments", "new", "--by", "mood"), "usage", "--by"),
        (("repeats", "new", "--k", "3"), "statistic-undefined", "trials"),
    ):
        error = cli.json("job", *words, code=2)["error"]
        assert (error["code"], error["where"]) == (code, where), words


def test_power_asks_nobody_and_refuses_what_can_not_be(cli: Cli) -> None:
    assert cli.json("power", "--difference", "0.03")["needed"] == 969
    shown = cli("power", "--difference", "0.03", "--items", "969", PROCTOR_SERVER="http://127.0.0.1:1").stdout
    assert "969 examples show a difference of 0.03 with 80% power" in shown
    assert not cli.home.exists()
    for words, where in (
        ((), "difference"),
        (("--difference", "1e-200"), "difference"),
        (("--difference", "nan"), "difference"),
        (("--items", "0"), "items"),
        (("--items", "9" * 400), "items"),
        (("--items", "9", "--between", "-1"), "design"),
    ):
        assert cli.json("power", *words, code=2)["error"]["where"] == where, words
