"""The file that an evaluator is registered from.

name = "short-enough"                  # its own name
type = "regex"
description = "Answers in one line"
cost = "0.001 USD"                     # of one evaluation, where it costs money

[configuration]                        # as docs/reference/evaluators.md lists it for the type
pattern = "\\A.{1,80}\\z"

[files]                                # for long texts: configuration keys by file, beside this one
source = "evaluate.py"
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path

from proctor.evaluators.errors import EvaluatorFileInvalid
from proctor.evaluators.service import Registration
from proctor.kernel.canonical import Json
from proctor.kernel.money import parse_usd

__all__ = ["LARGEST_FILE", "read_registration"]

LARGEST_FILE: int = 1024 * 1024
"""Bytes: more is no configuration."""
_KEYS: tuple[str, ...] = ("name", "type", "description", "cost", "configuration", "files")


def read_registration(path: Path) -> Registration:
    """What a file says is to be registered. Raises ``EvaluatorFileInvalid`` naming the file and the key."""
    said = _parsed(path)
    for key in said.keys() - set(_KEYS):
        near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.5)
        told = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(_KEYS)}."
        raise EvaluatorFileInvalid(f"There is no such key.{told}", where=f"{path}: {key[:100]}")
    return Registration(
        name=_text(path, said, "name"),
        type=_text(path, said, "type"),
        description=_text(path, said, "description", ""),
        cost_nano=_cost(path, said),
        configuration={**_table(path, said, "configuration"), **_from_files(path, said)},
    )


def _parsed(path: Path) -> dict[str, Json]:
    try:
        return dict(tomllib.loads(_read(path)))
    except tomllib.TOMLDecodeError as error:
        raise EvaluatorFileInvalid(f"It is no TOML: {error}.", where=str(path)) from error
    except RecursionError as error:
        raise EvaluatorFileInvalid("It is too deep.", where=str(path)) from error


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise EvaluatorFileInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error
    if len(content) > LARGEST_FILE:
        raise EvaluatorFileInvalid(f"It has more than {LARGEST_FILE:,} bytes.", where=str(path))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise EvaluatorFileInvalid("It is no UTF-8.", where=str(path)) from error


def _text(path: Path, said: Mapping[str, Json], key: str, default: str | None = None) -> str:
    value = said.get(key, default)
    if value is None:
        raise EvaluatorFileInvalid("This key is missing.", where=f"{path}: {key}")
    if not isinstance(value, str):
        raise EvaluatorFileInvalid("It has to be a text.", where=f"{path}: {key}")
    return value


def _table(path: Path, said: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = said.get(key, {})
    if not isinstance(value, dict):
        raise EvaluatorFileInvalid("It has to be a table.", where=f"{path}: {key}")
    return value


def _from_files(path: Path, said: Mapping[str, Json]) -> dict[str, Json]:
    """A file is named as it is found from the folder of this one."""
    files = _table(path, said, "files")
    return {key: _read(path.parent / _text(path, files, key)) for key in files}


def _cost(path: Path, said: Mapping[str, Json]) -> int | None:
    if "cost" not in said:
        return None
    try:
        return parse_usd(_text(path, said, "cost"))
    except ValueError as error:
        raise EvaluatorFileInvalid(f"{error}.", where=f"{path}: cost") from error
