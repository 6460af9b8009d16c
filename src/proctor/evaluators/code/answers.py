"""What a user's program wrote, read as what it may be: hostile text in which some lines are answers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from proctor.evaluators.samples import Score
from proctor.evaluators.statuses import Status
from proctor.evaluators.values import NotJson, read_json
from proctor.kernel.canonical import Json

__all__ = ["LONGEST_LINE", "LONGEST_TEXT", "plain", "read_answers", "read_lines"]

LONGEST_LINE: int = 32_768
"""Bytes of an answer: a label and an error at their longest, each letter escaped."""
LONGEST_TEXT: int = 2_000
"""Characters of a label or an error that are kept."""


def read_answers(printed: bytes, ids: Mapping[str, int]) -> dict[int, Score]:
    """What was answered, by the number of the row whose id it has. Of several answers to a row the first counts."""
    return {number: _score(found) for number, found in read_lines(printed, ids, longest=LONGEST_LINE).items()}


def read_lines(printed: bytes, ids: Mapping[str, int], *, longest: int) -> dict[int, Mapping[str, Json]]:
    """The first object of each row whose id it has. ``longest``: bytes of a line that is read."""
    found: dict[int, Mapping[str, Json]] = {}
    for line in printed.split(b"\n"):
        answer = _answer(line, longest)
        identity = answer.get("id")
        number = ids.get(identity) if isinstance(identity, str) else None
        if number is not None and number not in found:
            found[number] = answer
    return found


def _answer(line: bytes, longest: int) -> Mapping[str, Json]:
    """Empty for a line that is none."""
    if len(line) > longest or b'"id"' not in line:
        return {}
    try:
        found = read_json(line.decode())
    except (UnicodeDecodeError, NotJson):
        return {}
    return found if isinstance(found, dict) else {}


def _score(answer: Mapping[str, Json]) -> Score:
    error, score, label = answer.get("error"), answer.get("score"), answer.get("label")
    if error is not None:
        return _failed(error if isinstance(error, str) else "its error is no text")
    if isinstance(score, bool) or not isinstance(score, int | float):
        return _failed("its score is no number")
    if not math.isfinite(score) or not 0 <= score <= 1:
        return _failed(f"{score!r:.100} is no score from 0 to 1")
    if label is not None and not isinstance(label, str):
        return _failed("its label is no text")
    return Score(score=float(score), label=None if label is None else plain(label))


def _failed(message: str) -> Score:
    return Score(score=None, status=Status.EVALUATOR_ERROR, error=plain(message))


def plain(text: str) -> str:
    """A label or an error without half characters, which no column holds, and NUL, which no database holds."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode().replace("\0", "")
