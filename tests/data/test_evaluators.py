"""Evaluators as a user has them: looked at, tried, registered, suggested; mistakes are told, and leave nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from proctor.app import open_platform
from proctor.settings import Settings
from tests.acceptance.conftest import Cli

PYTHON = """
name = "same-length"
type = "python"
description = "As long as what is expected"
cost = "0.0000001 USD"

[files]
source = "judge.py"
"""
JUDGE = "def evaluate(input, expected, output):\n    return len(expected) == len(output)\n"
CHECKS = """
name = "polite"
type = "checks"

[[configuration.checks]]
name = "thanks"
type = "contains"
configuration = { texts = ["thank"], ignore_case = true }

[[configuration.checks]]
name = "short"
type = "regex"
weight = 3
configuration = { pattern = "(?s).{0,40}", match = "full" }
"""


@pytest.fixture
def cli(cli: Cli) -> Iterator[Cli]:
    """Its database is held open, which each command would start and stop else."""
    with open_platform(Settings(home=cli.home)):
        yield cli


def test_a_metric_is_tried_without_being_registered(cli: Cli) -> None:
    assert "exact-match" in cli("evaluators", "list").stdout
    told = cli.json("evaluators", "try", "numeric", "--expected", "42", "--output", "It is 42.0, I think.")
    assert (told["score"], told["status"], told["evaluator"]) == (1, "scored", "numeric")
    told = cli.json("evaluators", "try", "exact-match", "--expected", "[1, 2]", "--output", "[1,2.0]", "--json-values")
    assert told["score"] == 1
    assert "rouge-l: 1, in " in cli("evaluators", "try", "rouge-l", "--expected", "a b", "--output", "a b").stdout
    told = cli.json("evaluators", "try", "bleu", "--output", "x")
    assert (told["score"], told["status"]) == (None, "invalid_example")
    shown = cli.json("evaluators", "show", "bleu")
    assert (shown["said"], shown["configuration"]["order"], shown["row"]["latency_sec"]) == ({}, 4, None)


def test_code_of_ones_own_is_registered_in_versions(cli: Cli) -> None:
    cli.write("judge.py", JUDGE)
    cli.write("python.toml", PYTHON)
    made = cli.json("evaluators", "register", "python.toml")
    assert (made["row"]["reference"], made["row"]["cost_nano"]) == ("same-length@1", 100)
    assert cli.json("evaluators", "register", "python.toml") == made
    told = cli.json("evaluators", "try", "same-length", "--expected", "abc", "--output", "xyz")
    assert (told["score"], told["digest"]) == (1, made["row"]["digest"])
    cli.write("judge.py", JUDGE.replace("return", "return 1 - "))
    assert "same-length@2" in cli("evaluators", "register", "python.toml").stdout
    scores = [
        cli.json("evaluators", "try", reference, "--expected", "abc", "--output", "xyz")["score"]
        for reference in ("same-length@1", "same-length@2", "same-length")
    ]
    assert scores == [1, 0, 0]
    assert len(cli.json("evaluators", "list", "--type", "python")["evaluators"]) == 3


def test_checks_say_which_failed(cli: Cli) -> None:
    cli.write("checks.toml", CHECKS)
    cli("evaluators", "register", "checks.toml")
    told = cli.json("evaluators", "try", "polite", "--output", "No.")
    assert (told["score"], told["label"]) == (0.75, "thanks")
    told = cli.json("evaluators", "try", "polite", "--output", "Thank you.")
    assert (told["score"], told["label"]) == (1, "passed")


def test_evaluators_are_suggested_for_a_file_of_examples(cli: Cli) -> None:
    rows = [{"input": str(number), "expected": number} for number in range(9)] + [{"input": "open"}]
    cli.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    found = cli.json("evaluators", "suggest", "data.jsonl")
    assert (found["facts"]["number"], found["facts"]["missing"]) == (9, 1)
    assert found["suggestions"][0]["evaluator"]["reference"] == "numeric"
    assert "9 of 10 expect a number" in cli("evaluators", "suggest", "data.jsonl").stdout


def test_mistakes_name_the_place_and_the_remedy(cli: Cli) -> None:
    cli.write("wrong.toml", PYTHON.replace("cost =", "costs ="))
    error = cli.json("evaluators", "register", "wrong.toml", code=2)["error"]
    assert (error["code"], error["where"]) == ("evaluator-file", "wrong.toml: costs")
    assert "Did you mean 'cost'" in error["message"]
    cli.write("wrong.toml", PYTHON)
    assert cli.json("evaluators", "register", "wrong.toml", code=2)["error"]["where"] == "judge.py"
    cli.write("wrong.toml", CHECKS.replace('"regex"', '"regexp"'))
    error = cli.json("evaluators", "register", "wrong.toml", code=2)["error"]
    assert (error["code"], error["where"]) == ("evaluator-configuration", "configuration.checks.1")
    for command in (["show", "gone"], ["try", "gone", "--output", "x"]):
        assert cli.json("evaluators", *command, code=2)["error"]["code"] == "evaluator-unknown"
    cli.write("data.jsonl", '{"expected": 1}\n[]\n')
    assert cli.json("evaluators", "suggest", "data.jsonl", code=2)["error"]["where"] == "data.jsonl: line 2"
    error = cli.json("evaluators", "try", "numeric", "--output", "{", "--json-values", code=2)["error"]
    assert error["where"] == "--output"
    error = cli.json("evaluators", "try", "python", "--output", "x", code=2)["error"]
    assert (error["code"], error["where"]) == ("evaluator-configuration", "configuration.source")
    assert not [row for row in cli.json("evaluators", "list")["evaluators"] if row["version"] is not None]


def test_evaluators_are_suggested_for_a_dataset_that_is_kept(cli: Cli) -> None:
    rows = [{"id": f"e{number}", "input": "x", "expected": number} for number in range(9)]
    cli.write("numbers.jsonl", "".join(json.dumps(row) + "\n" for row in [*rows, {"id": "z", "input": "y"}]))
    cli("dataset", "import", "numbers.jsonl", "--name", "numbers")
    found = cli.json("evaluators", "suggest", "numbers")
    assert (found["facts"]["number"], found["facts"]["missing"]) == (9, 1)
    assert found["suggestions"][0]["evaluator"]["reference"] == "numeric"
    assert cli.json("evaluators", "suggest", "nothing", code=2)["error"]["code"] == "dataset-unknown"
