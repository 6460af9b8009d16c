"""Datasets as Hugging Face's library writes them are read, and what we write is read by it and by polars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proctor.datasets.fields import Fields, read_example
from proctor.datasets.formats.catalogue import Format, found_format, rows_of
from proctor.datasets.schema import table_of
from proctor.datasets.writing import VersionWriter
from tests.foreign.conftest import Ask
from tests.foreign.environments import HUGGING_FACE

ROWS: list[dict[str, Any]] = [
    {"id": f"e{number}", "input": f"question {number}", "expected": f"ä{number}", "tags": ["a"] * (number % 2)}
    for number in range(2500)
]


def test_what_save_to_disk_writes_is_read(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    ask(HUGGING_FACE, "hugging_face", {"rows": {"all": ROWS}, "folder": str(folder)})
    assert found_format(folder, None) is Format.HF
    assert [dict(row.raw) for row in rows_of(folder, Format.HF)] == ROWS  # type: ignore[arg-type]


def test_splits_that_save_to_disk_writes_are_read(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    ask(HUGGING_FACE, "hugging_face", {"rows": {"train": ROWS[:9], "test": ROWS[9:12]}, "folder": str(folder)})
    examples = [read_example(row.raw, Fields()) for row in rows_of(folder, Format.HF)]  # type: ignore[arg-type]
    assert [example.id for example in examples] == [row["id"] for row in ROWS[:12]]
    splits = [json.loads(example.metadata or "")["split"] for example in examples]
    assert splits == ["train"] * 9 + ["test"] * 3


def test_what_we_write_is_read(ask: Ask, tmp_path: Path) -> None:
    rows = [{**row, "embedding": [0.5, float(number)]} for number, row in enumerate(ROWS)]
    with VersionWriter(tmp_path) as writer:
        writer.add(table_of([read_example(row, Fields()) for row in rows]))
        (part,) = writer.finish().parts
    theirs = ask(HUGGING_FACE, "hugging_face", {"parquet": str(part.path), "cache": str(tmp_path / "cache")})
    wanted = [{name: row[name] for name in ("id", "input", "expected", "tags", "embedding")} for row in rows]
    assert theirs == {"datasets": wanted, "polars": wanted}
