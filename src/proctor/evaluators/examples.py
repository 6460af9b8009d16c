"""A file of examples, read for what it says of a dataset: JSON Lines, with ``expected`` where something is.

A line is an object; its ``expected`` is any JSON value. What else it has is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proctor.evaluators.errors import EvaluatorFileInvalid
from proctor.evaluators.facts import DatasetFacts, facts_of
from proctor.evaluators.samples import MISSING, Missing
from proctor.evaluators.values import LONGEST_JSON, NotJson, read_json
from proctor.kernel.canonical import Json

__all__ = ["facts_of_file"]


def facts_of_file(path: Path) -> DatasetFacts:
    """Counted line by line. Raises ``EvaluatorFileInvalid`` naming the file and the line."""
    return facts_of(_expected(path))


def _expected(path: Path) -> Iterator[Json | Missing]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_JSON + 1):
                number += 1
                if line.strip():
                    yield _of_line(line, f"{path}: line {number}")
    except OSError as error:
        raise EvaluatorFileInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error


def _of_line(line: bytes, where: str) -> Json | Missing:
    try:
        value = read_json(line.decode())
    except (UnicodeDecodeError, NotJson) as error:
        raise EvaluatorFileInvalid(f"It is no JSON: {error}.", where=where) from error
    if not isinstance(value, dict):
        raise EvaluatorFileInvalid("It has to be an object.", where=where)
    return value["expected"] if "expected" in value else MISSING  # noqa: SIM401  what is there is JSON
