"""Imported results are checked whole: what the tables can't hold or what contradicts itself has its line told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.engine.imports.records import AttemptRecord, ImportInvalid, read_attempts, read_manifest

GOOD: dict[str, Any] = {
    "suite": "s",
    "profile": "p",
    "task": "own/t",
    "started_at": "2026-06-01T00:00:00Z",
    "ended_at": "2026-06-01T00:01:00.123456+02:00",
    "evidence": [{"phase": "agent", "detail": {"exit_code": 0}}],
    "rewards": {"reward": 1, "style": 0.5},
    "usage": {"input_tokens": 1, "cost_nano": 2**53, "output_tokens": None},
}
GOOD["started_at"] = "2026-05-31T00:00:00Z"


def read(folder: Path, *lines: str) -> list[AttemptRecord]:
    (folder / "attempts.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [record for _, record in read_attempts(folder)]


def test_a_good_line_is_read_and_can_be_stored(tmp_path: Path) -> None:
    (record,) = read(tmp_path, "", json.dumps(GOOD))
    assert record.started_at.tzinfo is not None
    assert (record.trial, record.attempt, record.rewards) == (1, 1, {"reward": 1.0, "style": 0.5})
    assert AttemptRecord.model_validate(record.model_dump(mode="json")) == record


BAD: list[tuple[str, str, str]] = [
    ("rewards", '{"reward": NaN}', "rewards.reward"),
    ("rewards", '{"reward": 1e999}', "rewards.reward"),
    ("rewards", '{"reward": -Infinity}', "rewards.reward"),
    ("rewards", '{"reward": true}', "rewards.reward"),
    ("rewards", '{"reward": "1"}', "rewards.reward"),
    ("rewards", '{"reward": null}', "rewards.reward"),
    ("rewards", "{}", "rewards"),
    ("rewards", '{"a\\u0000": 1}', "rewards"),
    ("rewards", '{"reward": ' + "9" * 400 + "}", "rewards.reward"),
    ("trial", "0", "trial"),
    ("trial", "true", "trial"),
    ("trial", '"1"', "trial"),
    ("trial", "1.5", "trial"),
    ("attempt", "1000000000000", "attempt"),
    ("attempt", "-1", "attempt"),
    ("started_at", '"9999-12-31T23:59:59-23:00"', "started_at"),
    ("started_at", '"0001-01-01T00:00:00+23:00"', "started_at"),
    ("started_at", '"2026-06-01T00:00:00"', "started_at"),
    ("started_at", '"2026-06-01"', "started_at"),
    ("started_at", "1780000000", "started_at"),
    ("started_at", '"1780000000"', "started_at"),
    ("started_at", '"2026-13-01T00:00:00Z"', "started_at"),
    ("started_at", "null", "started_at"),
    ("ended_at", '"2020-01-01T00:00:00Z"', "ended_at"),
    ("problem", '"verifier_crash"', "problem"),
    ("problem", '"no_idea"', "problem"),
    ("usage", '{"cost_nano": -5}', "usage.cost_nano"),
    ("usage", '{"cost_nano": 1' + "0" * 30 + "}", "usage.cost_nano"),
    ("usage", '{"cost_nano": true}', "usage.cost_nano"),
    ("usage", '{"cost_nano": 0.5}', "usage.cost_nano"),
    ("usage", '{"input_tokens": 9007199254740993}', "usage.input_tokens"),
    ("usage", '{"dollars": 3}', "usage.dollars"),
    ("evidence", '[{"phase": "moon"}]', "evidence.0.phase"),
    ("evidence", '[{"phase": "agent", "detail": {"a": [{"b": NaN}]}}]', "evidence.0.detail"),
    ("evidence", '[{"phase": "agent", "detail": {"a": "\\u0000"}}]', "evidence.0.detail"),
    ("evidence", '[{"phase": "agent", "detail": {"a": "\\ud800"}}]', ""),
    ("evidence", '[{"phase": "agent", "detail": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}]", ""),
    ("profile", '"p\\u0000"', "profile"),
    ("task", '""', "task"),
    ("suite", "3", "suite"),
    ("foo", "1", "foo"),
]


@pytest.mark.parametrize(("field", "value", "place"), BAD, ids=[f"{one[0]} {one[1][:30]}" for one in BAD])
def test_a_bad_field_is_refused_by_line_and_field(tmp_path: Path, field: str, value: str, place: str) -> None:
    rest = json.dumps({key: one for key, one in GOOD.items() if key != field})
    with pytest.raises(ImportInvalid) as told:
        read(tmp_path, json.dumps(GOOD), f'{rest[:-1]}, "{field}": {value}}}')
    assert told.value.where == f"{tmp_path / 'attempts.jsonl'}: line 2"
    assert told.value.message.startswith(place)


MANIFEST = 'format = "proctor-results-1"\nname = "n"\nsuite = "s"\n[[profiles]]\nname = "p"\nagent = "x"\n'


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ('[[profiles]]\nname = "p"\nagent = "y"\n', "profiles"),
        ('model = "a\\u0000"\n', "profiles.0.model"),
        ('variant = "' + "x" * 300 + '"\n', "profiles.0.variant"),
        ("x = " + "[" * 50_000, "It is not TOML"),
        ("temperature = 1\n", "profiles.0.temperature"),
    ],
)
def test_a_bad_manifest_is_refused_by_its_field(tmp_path: Path, more: str, place: str) -> None:
    (tmp_path / "attempts.jsonl").touch()
    (tmp_path / "results.toml").write_text(MANIFEST, encoding="utf-8")
    read_manifest(tmp_path)
    (tmp_path / "results.toml").write_text(MANIFEST + more, encoding="utf-8")
    with pytest.raises(ImportInvalid) as told:
        read_manifest(tmp_path)
    assert told.value.message.startswith(place)
    assert told.value.where == str(tmp_path / "results.toml")
