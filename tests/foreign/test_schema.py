"""The published JSON Schema of run-set files, judged by another implementation of JSON Schema."""

from __future__ import annotations

import json
import shutil
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from proctor.sdk.starting import write_run_set_file
from tests.acceptance.conftest import ROOT
from tests.foreign.conftest import Ask
from tests.foreign.environments import JSONSCHEMA

SCHEMA = json.loads(files("proctor.engine").joinpath("run-set.schema.json").read_text(encoding="utf-8"))


def _complaints(ask: Ask, document: dict[str, Any]) -> list[str]:
    found: list[str] = ask(JSONSCHEMA, "schema", {"schema": SCHEMA, "documents": [document]})["complaints"][0]
    return found


def _demo() -> dict[str, Any]:
    return tomllib.loads((ROOT / "examples" / "demo.toml").read_text(encoding="utf-8"))


def test_the_demo_is_valid(ask: Ask) -> None:
    assert _complaints(ask, _demo()) == []


def test_the_file_that_init_writes_is_valid(ask: Ask, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "basics", tmp_path / "basics")
    write_run_set_file(tmp_path, tmp_path / "proctor.toml")
    written = tomllib.loads((tmp_path / "proctor.toml").read_text(encoding="utf-8"))
    assert _complaints(ask, written) == []


def test_a_mistyped_key_is_not_valid_at_any_depth(ask: Ask) -> None:
    at_the_root = {**_demo(), "trails": 3}
    in_a_table = {**_demo(), "budget": {"wal": "10m"}}
    in_a_profile = {**_demo(), "profiles": [{"name": "a", "agent": "noop", "modle": "x"}]}
    for document, key in ((at_the_root, "trails"), (in_a_table, "wal"), (in_a_profile, "modle")):
        assert any(key in complaint for complaint in _complaints(ask, document)), key


def test_a_missing_suite_and_a_wrong_type_are_not_valid(ask: Ask) -> None:
    demo = _demo()
    assert _complaints(ask, {key: value for key, value in demo.items() if key != "suite"})
    assert _complaints(ask, {**demo, "trials": "three"})
