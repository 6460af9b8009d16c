"""Datasets as a user keeps them: the how-to's commands, what is told of mistakes, and nothing heavy where none is."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from tests.acceptance.conftest import ROOT, Cli

HOW_TO = (ROOT / "docs" / "how-to" / "keep-datasets.md").read_text()


def write_questions(cli: Cli, rows: int, changed: int = 0) -> None:
    lines = [
        {
            "id": f"q{number}",
            "input": f"question {number}",
            "expected": f"answer {number}" if number >= changed else "corrected",
            "difficulty": ("easy", "hard")[number % 2],
            "tags": ["billing"] if number % 3 else ["returns"],
        }
        for number in range(rows)
    ]
    cli.write("questions.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.timeout(300)  # some twenty commands, each a process of its own
def test_the_commands_of_the_how_to_do_what_it_says(cli: Cli) -> None:
    write_questions(cli, 1200)
    cli("dataset", "import", "questions.jsonl", "--name", "support")
    write_questions(cli, 1204, changed=12)
    cli.write("corrections.jsonl", '{"id": "q20", "expected": "twenty", "difficulty": null}\n')
    cli.write("returns.jsonl", '{"id": "r1", "input": "where is it"}\n')
    cli("dataset", "import", "returns.jsonl", "--name", "returns")

    told = cli("dataset", "import", "questions.jsonl", "--name", "support", "--dry-run").stdout
    assert told in HOW_TO
    typed = [shlex.split(line, comments=True)[1:] for line in re.findall(r"^proctor dataset .*$", HOW_TO, re.MULTILINE)]
    assert len(typed) > 10
    for words in typed:
        cli(*words)
    cli(*shlex.split("dataset diff support@1.0.0 support"))
    names = {row["name"]: row["version"] for row in cli.json("dataset", "list")["datasets"]}
    assert names == {
        "all": "1.0.0",
        "hard-billing": "1.0.0",
        "returns": "1.0.0",
        "smoke": "1.0.0",
        "support-clear": "1.0.0",
        "support-test": "1.0.0",
        "support": "1.2.0",
    }
    lineage = cli.json("dataset", "show", "all")["version"]["lineage"]
    assert [(one["dataset"], one["version"]) for one in lineage["parents"]] == [
        ("support", "1.1.0"),
        ("returns", "1.0.0"),
    ]
    assert cli.json("dataset", "show", "smoke")["version"]["rows"] == 200


def test_mistakes_are_told_by_row_and_field_and_nothing_is_made(cli: Cli) -> None:
    cli.write("bad.jsonl", '{"id": "a", "input": "x"}\n{"id": "a", "input": "y"}\n')
    done = cli("dataset", "import", "bad.jsonl", "--name", "qa", code=2)
    assert "row 2: id: row 1 has the id 'a' too" in done.stderr
    assert cli.json("dataset", "list")["datasets"] == []
    left = cli("dataset", "import", "bad.jsonl", "--name", "qa", "--skip-malformed")
    assert left.stdout.startswith("qa@1.0.0: 1 example, id ")
    assert "left out: row 2: id" in left.stderr
    for words, code in (
        (("import", "bad.jsonl", "--name", "qa", "--format", "xml"), "usage"),
        (("import", "gone.jsonl", "--name", "qa"), "dataset-source"),
        (("import", "bad.jsonl", "--name", "a/b"), "dataset-name"),
        (("import", "bad.jsonl", "--name", "qa", "--version", "x"), "dataset-version"),
        (("show", "gone"), "dataset-unknown"),
        (("show", ""), "dataset-unknown"),
        (("examples", "x" * 300), "usage"),
        (("examples", "qa", "--tag", ""), "usage"),
        (("dedupe", ""), "usage"),
        (("filter", "qa"), "usage"),
        (("filter", "qa", "--tag", "none"), "dataset-empty"),
        (("merge", "qa", "--name", "x"), "usage"),
        (("sample", "qa", "--size", "2", "--seed", "1"), "dataset-sample"),
        (("split", "qa", "train=2"), "usage"),
        (("export", "qa", "--to", "x.txt"), "dataset-format"),
        (("export", "qa", "--to", "bad.jsonl"), "file-taken"),
        (("export", "qa", "--to", "no/folder/x.csv"), "path-unusable"),
    ):
        assert cli.json("dataset", *words, code=2)["error"]["code"] == code, words
    assert not list(cli.folder.glob(".proctor*"))


def test_the_help_needs_none_of_the_data_extra(cli: Cli) -> None:
    program = (
        "import sys\nfrom typer.testing import CliRunner\nfrom proctor.cli.main import app\n"
        "assert CliRunner().invoke(app, ['dataset', '--help']).exit_code == 0\n"
        "print(sorted({'pyarrow', 'duckdb', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], env=cli.environment(), text=True) == "[]\n"


def test_without_the_data_extra_it_is_named(cli: Cli) -> None:
    cli.write("hiding/sitecustomize.py", "import sys\nsys.modules.update(duckdb=None, pyarrow=None)\n")
    path = os.pathsep.join([str(cli.folder / "hiding"), *sys.path])
    done = cli("dataset", "list", code=2, PYTHONPATH=path)
    assert "data-extra" in done.stderr
    assert "[data]" in done.stderr
