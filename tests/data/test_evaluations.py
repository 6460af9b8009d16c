"""Outputs as a user has them judged: by the how-to, word for word; mistakes are told, and leave nothing."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.acceptance.conftest import Cli

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to" / "judge-outputs.md"


@pytest.fixture
def outputs(cli: Cli) -> Cli:
    for name in ("capitals.jsonl", "answers.jsonl", "target.toml", "replies.toml", "providers.toml"):
        shutil.copy(ROOT / "examples" / "outputs" / name, cli.folder / name)
    return cli


def test_every_command_of_the_how_to_does_what_it_says(outputs: Cli) -> None:
    text = HOW_TO.read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks = [block for language, block in fenced if not language]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    commands = [line for line in lines if line.startswith("proctor ")]
    assert len(commands) > 6
    for line in lines:
        if line.startswith("printf "):
            subprocess.run(line, shell=True, cwd=outputs.folder, check=True)
    there = {"PROCTOR_PROVIDERS_FILE": str(outputs.folder / "providers.toml")}
    told = [outputs(*shlex.split(command)[1:], **there).stdout for command in commands]
    shown = next(block for block in blocks if block.startswith("answers ("))
    numbers = re.compile(r"(exact-match|token-f1) +([0-9.]+) +(\[[^]]+\]) +([0-9.]+) +(\S+) +(\S+) +(\[[^]]+\])")
    assert numbers.findall(told[1]) == numbers.findall(shown)
    assert len(numbers.findall(shown)) == 2
    assert pq.read_table(outputs.folder / "results.parquet").num_rows == 144


def test_json_says_the_same_and_is_the_same_on_every_command(outputs: Cli) -> None:
    outputs("dataset", "import", "capitals.jsonl", "--name", "capitals")
    done = outputs.json("evaluate", "capitals", "--outputs", "answers.jsonl", "-e", "exact-match", "--name", "first")
    assert (done["job"]["state"], done["done"], done["expected"]) == ("complete", 24, 24)
    assert outputs.json("job", "show", "first") == done
    assert [job["id"] for job in outputs.json("job", "list")["jobs"]] == [done["job"]["id"]]
    assert [one["name"] for one in outputs.json("samples", "list")["samples"]] == ["answers"]
    rows = outputs.json("job", "results", "first", "--limit", "3", "--after", "2")["results"]
    assert [row["row"] for row in rows] == [2, 3, 4]
    assert outputs.json("sql", "SELECT count(*) AS n FROM results")["rows"] == [{"n": 24}]
    assert outputs.json("samples", "add", "capitals", "answers.jsonl")["new"] is False


def test_mistakes_are_told_by_field_and_leave_nothing(outputs: Cli) -> None:
    outputs("dataset", "import", "capitals.jsonl", "--name", "capitals")
    evaluate = ("evaluate", "capitals", "--outputs")

    def refused(*words: str) -> str:
        return str(outputs.json(*words, code=2)["error"]["code"])

    assert refused(*evaluate, "nothing", "-e", "exact-match") == "samples-unknown"
    assert refused(*evaluate, "answers.jsonl", "-e", "exact-mach") == "evaluator-unknown"
    assert refused("evaluate", "capitols", "--outputs", "answers.jsonl", "-e", "bleu") == "dataset-unknown"
    assert refused(*evaluate, "answers.jsonl", "-e", "checks") == "evaluator-configuration"
    assert refused("job", "show", "nothing") == "job-unknown"
    assert refused("sql", "DELETE FROM results") == "query-refused"
    assert refused("sql", "SELECT scoer FROM results") == "query-failed"
    outputs.write("broken.jsonl", json.dumps({"id": "france", "output": "x"}) + "\n{\n")
    error = outputs.json(*evaluate, "broken.jsonl", "-e", "bleu", code=2)["error"]
    assert (error["code"], "row 2: " in error["message"]) == ("samples-invalid", True)
    assert outputs.json("job", "list")["jobs"] == []
    shown = outputs(*evaluate, "broken.jsonl", "-e", "bleu", "--skip-malformed", code=0)
    assert "1 row left out:\n  row 2: " in shown.stderr
    route = (*evaluate, "broken", "-e", "bleu", "--route", "bleu:0.2..0.8")
    assert "is no route such as" in outputs(*route, code=2).stderr


def test_words_that_can_not_be_are_told_before_a_file_is_taken_in(outputs: Cli) -> None:
    outputs("dataset", "import", "capitals.jsonl", "--name", "capitals")
    for option, word in (("--name", ""), ("--name", "a" * 101), ("--name", "two\nlines"), ("--band", "xx")):
        command = ("evaluate", "capitals", "--outputs", "answers.jsonl", "-e", "exact-match", option, word)
        error = outputs.json(*command, code=2)["error"]
        assert (error["code"], error["message"].partition(":")[0]) == ("usage", option.removeprefix("--"))
    too_long = outputs.json("evaluate", "capitals", "--outputs", "answers.jsonl", "-e", "x" * 400, code=2)
    assert too_long["error"]["message"].startswith("evaluators.0:")
    assert outputs.json("stream", "open", "s", "-e", "contains", "--band", "xx", code=2)["error"]["code"] == "usage"
    assert outputs.json("samples", "list")["samples"] == []


def test_a_detached_job_waits_for_somebody_who_does_it(outputs: Cli) -> None:
    outputs("dataset", "import", "capitals.jsonl", "--name", "capitals")
    words = ("evaluate", "capitals", "--outputs", "answers.jsonl", "-e", "bleu", "--name", "later", "--detach")
    assert outputs.json(*words)["job"]["state"] == "queued"
    assert outputs.json("job", "pause", "later")["job"]["state"] == "paused"
    assert outputs.json("job", "resume", "later")["job"]["state"] == "complete"
    assert outputs.json("job", "cancel", "later", code=2)["error"]["code"] == "job-ended"
