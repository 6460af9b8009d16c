"""What other tools' own libraries write is read as they mean it: Inspect, promptfoo, Phoenix and Langfuse."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.examples import Example
from proctor.datasets.fields import FieldInvalid, Fields, read_example
from proctor.datasets.formats.catalogue import Format, rows_of
from tests.foreign.conftest import Ask
from tests.foreign.environments import INSPECT, LANGFUSE, PHOENIX_CLIENT, PROMPTFOO

TIME = "2026-11-30T12:00:00+00:00"


def imported(path: Path, kind: Format) -> list[Example]:
    found = []
    for row in rows_of(path, kind):
        assert not isinstance(row.raw, FieldInvalid), row
        found.append(read_example(row.raw, Fields()))
    return found


def value(text: str | None, *, is_json: bool) -> Any:
    return json.loads(text) if text is not None and is_json else text


def told(example: Example) -> dict[str, Any]:
    return {
        "id": example.id,
        "input": value(example.input, is_json=example.input_is_json),
        "expected": value(example.expected, is_json=example.expected_is_json),
        "metadata": json.loads(example.metadata or "{}"),
    }


# --- Inspect ----------------------------------------------------------------------------------------------------------

SAMPLES: list[dict[str, Any]] = [
    {"id": 1, "input": "one", "target": "A"},
    {
        "id": "two",
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "two?"}],
        "target": ["A", 2],
        "choices": ["A", "B", " "],
        "metadata": {"k": 1, "deep": {"list": [1, None, "ü"]}},
        "files": {"a.txt": "what stands in it"},
        "setup": "true",
        "sandbox": ["docker", "there-is-none.yaml"],
    },
    {"input": "no id", "target": 3.5, "metadata": '{"k": 2}', "choices": "x, y,", "sandbox": "local"},
    {"id": "true", "input": "Ä é 🎈", "target": True, "choices": "x y"},
    {"id": "unknown", "input": "no target"},
]
CELLS: list[dict[str, str]] = [
    {"id": "7", "input": "one", "target": "3", "choices": "A,B", "metadata": '{"k": 1}', "sandbox": "local"},
    {
        "id": "b",
        "input": 'Ä, "quoted"\nand more',
        "choices": "x y",
        "metadata": "{}",
        "sandbox": '["docker", "none.yaml"]',
    },
]
"""An empty cell is an empty text to Inspect, which only a target may be: metadata must be JSON, a sandbox a type."""


def as_inspect_says(example: Example) -> dict[str, Any]:
    """By Inspect's names, where Inspect's words for nothing are an empty target and None."""
    ours = told(example)
    metadata: dict[str, Any] = ours["metadata"]
    more = {name: metadata.pop(name, None) for name in ("choices", "files", "setup", "sandbox")}
    sandbox = more["sandbox"]
    if isinstance(sandbox, str):
        more["sandbox"] = [sandbox, None]
    asked = ours["input"]
    messages = asked if isinstance(asked, str) else [[one["role"], one["content"]] for one in asked]
    target = "" if ours["expected"] is None else ours["expected"]
    return {"id": ours["id"], "input": messages, "target": target, "metadata": metadata, **more}


def test_inspect_reads_its_datasets_as_we_do(ask: Ask, tmp_path: Path) -> None:
    lines, array, one, cells = (tmp_path / name for name in ("x.jsonl", "x.json", "one.json", "x.csv"))
    lines.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    array.write_text(json.dumps(SAMPLES, indent=2))
    one.write_text(json.dumps(SAMPLES[1], indent=2))
    write_cells(cells, ["id", "input", "target", "choices", "metadata", "sandbox"], CELLS)
    paths = [lines, array, one, cells]
    theirs = ask(INSPECT, "inspect_datasets", [str(path) for path in paths])
    for path, samples in zip(paths, theirs, strict=True):
        ours = [as_inspect_says(example) for example in imported(path, Format.INSPECT)]
        for mine, sample in zip(ours, samples, strict=True):
            sample["metadata"] = sample["metadata"] or {}
            if sample["id"] is None:  # it numbers those itself when it runs them; we derive an id
                sample["id"] = mine["id"]
        assert ours == samples, path.name


def write_cells(path: Path, header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, header, restval="")
        writer.writeheader()
        writer.writerows(rows)


# --- promptfoo --------------------------------------------------------------------------------------------------------

TESTS: list[dict[str, Any]] = [
    {"vars": {"q": "1+1"}, "assert": [{"type": "equals", "value": "2"}], "description": "adding", "metadata": {"k": 1}},
    {"vars": {"q": "a", "n": [1, 2]}, "assert": [{"type": "contains", "value": "a"}, {"type": "is-json"}]},
    {"vars": {"q": "ü"}, "threshold": 0.5},
]
"""``n`` is a list, which promptfoo would run once for each of its values, were that not switched off."""
COLUMNS: list[dict[str, str]] = [
    {"q": "1+1", "__expected1": "2", "__description": "a", "__metadata:k": "one, two", "__metadata:tags[]": "a, b\\,c"},
    {"q": "2", "__expected1": "equals: two ", "__description": "b", "__threshold": "0.25"},
    {"q": "3", "__expected1": "icontains:A", "__expected2": "not-contains:b", "__description": "c"},
    {"q": "4", "__expected1": 'contains-any:a, "b,c"', "__description": "d"},
    {"q": "5", "__expected1": "levenshtein(5):texts", "__expected2": "is-json", "__description": "e"},
    {"q": "6", "__expected1": "fn:output.length > 0", "__description": "f"},
    {"q": "7", "__expected1": "answer: 4", "__description": "g"},
    {"q": "8", "__description": "h"},
]


def evaluated(ask: Ask, folder: Path, tests: object) -> Path:
    """What promptfoo writes of an evaluation of two prompts."""
    settings = {"prompts": ["{{q}}", "again {{q}}"], "providers": ["echo"], "tests": tests}
    options = {"options": {"disableVarExpansion": True}}
    (folder / "config.json").write_text(json.dumps({**settings, "defaultTest": options}))
    ask(PROMPTFOO, "promptfoo_evaluations", {"folder": str(folder)})
    return folder / "output.json"


def without_its_own(example: Example) -> dict[str, Any]:
    """Without the options that every test of the evaluation has."""
    ours = told(example)
    ours["metadata"].pop("options", None)
    return ours


def test_an_evaluation_of_promptfoo_has_the_tests_of_its_configuration(ask: Ask, tmp_path: Path) -> None:
    output = evaluated(ask, tmp_path, TESTS)
    found = [without_its_own(example) for example in imported(output, Format.PROMPTFOO)]
    assert found == [told(example) for example in imported(tmp_path / "config.json", Format.PROMPTFOO)]
    assert [(one["input"], one["expected"]) for one in found] == [
        ({"q": "1+1"}, "2"),
        ({"q": "a", "n": [1, 2]}, [{"type": "contains", "value": "a"}, {"type": "is-json"}]),
        ({"q": "ü"}, None),
    ]


def test_promptfoo_reads_its_csv_as_we_do(ask: Ask, tmp_path: Path) -> None:
    header = ["q", "__expected1", "__expected2", "__description", "__threshold", "__metadata:k", "__metadata:tags[]"]
    write_cells(tmp_path / "tests.csv", header, COLUMNS)
    output = evaluated(ask, tmp_path, "file://tests.csv")
    ours = [told(example) for example in imported(tmp_path / "tests.csv", Format.PROMPTFOO)]
    assert len(ours) == len(COLUMNS)
    assert ours == [without_its_own(example) for example in imported(output, Format.PROMPTFOO)]


# --- Phoenix ----------------------------------------------------------------------------------------------------------

EXAMPLES: list[dict[str, Any]] = [
    {"id": "e1", "input": {"q": "1+1"}, "output": {"a": "2"}, "metadata": {"k": 1}},
    {"id": "e2", "input": {"messages": [{"role": "user", "content": "ü"}]}, "output": {}, "metadata": {}},
]


@pytest.mark.parametrize("name", ["dataset.json", "frame.jsonl"])
def test_datasets_of_the_client_of_phoenix_are_read(ask: Ask, tmp_path: Path, name: str) -> None:
    examples = [{**one, "node_id": f"node-{one['id']}", "updated_at": TIME} for one in EXAMPLES]
    ask(PHOENIX_CLIENT, "phoenix_datasets", {"folder": str(tmp_path), "examples": examples, "time": TIME})
    found = [told(example) for example in imported(tmp_path / name, Format.PHOENIX)]
    assert found == [
        {"id": one["id"], "input": one["input"], "expected": one["output"] or None, "metadata": one["metadata"]}
        for one in EXAMPLES
    ]


# --- Langfuse ---------------------------------------------------------------------------------------------------------

ITEMS: list[dict[str, Any]] = [
    {"id": "i1", "status": "ACTIVE", "input": {"q": "1+1"}, "expected_output": "2", "metadata": {"k": 1}},
    {"id": "i2", "status": "ACTIVE", "input": "a text: ü", "expected_output": None, "metadata": None},
    {
        "id": "i3",
        "status": "ARCHIVED",
        "input": ["a", 1, None],
        "expected_output": {"a": [True]},
        "metadata": ["words"],
        "source_trace_id": "t1",
        "source_observation_id": "o1",
    },
]


def test_items_of_langfuse_are_read_as_a_page_and_as_lines(ask: Ask, tmp_path: Path) -> None:
    theirs = ask(LANGFUSE, "langfuse_items", {"items": ITEMS, "time": TIME})
    page, lines = tmp_path / "page.json", tmp_path / "items.jsonl"
    page.write_text(theirs["page"])
    lines.write_text("".join(line + "\n" for line in theirs["lines"]))
    wanted = [
        ({"q": "1+1"}, "2", {"k": 1, "status": "ACTIVE"}),
        ("a text: ü", None, {"status": "ACTIVE"}),
        (
            ["a", 1, None],
            {"a": [True]},
            {"metadata": ["words"], "status": "ARCHIVED", "sourceTraceId": "t1", "sourceObservationId": "o1"},
        ),
    ]
    for path in (page, lines):
        found = [told(example) for example in imported(path, Format.LANGFUSE)]
        assert [one["id"] for one in found] == [item["id"] for item in ITEMS]
        assert [(one["input"], one["expected"], one["metadata"]) for one in found] == wanted, path.name


def test_an_item_of_langfuse_is_the_same_at_another_time(ask: Ask, tmp_path: Path) -> None:
    found = []
    for time in (TIME, "2026-12-01T09:30:00+00:00"):
        path = tmp_path / "page.json"
        path.write_text(ask(LANGFUSE, "langfuse_items", {"items": ITEMS, "time": time})["page"])
        found.append([told(example) for example in imported(path, Format.LANGFUSE)])
    assert found[0] == found[1]
