"""Runs a user's function over rows, inside of a sandbox: no module of Proctor's is there, and Python may be another.

Rows come as lines of JSON on standard input, and are read before anything of the user's runs. One line of JSON goes out
for each, with the row's own random id. Standard output is then another descriptor: what the user's code prints goes to
standard error.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable

LONGEST_TEXT = 2000


def main(source: str, function: str) -> None:
    """Judge all rows by ``function`` of the file ``source``."""
    rows = [json.loads(line) for line in sys.stdin.buffer]
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    judged: Iterable[dict[str, object]]
    try:
        judge = loaded(source, function)
        judged = (answer(judge, row) for row in rows)
    except BaseException as error:  # noqa: BLE001  whatever the user's code raises is told
        problem = told(error)
        judged = [{"id": row["id"], "error": problem} for row in rows]
    for one in judged:
        answers.write(b"\n" + json.dumps(one, allow_nan=False).encode() + b"\n")


def loaded(source: str, function: str) -> Callable[..., object]:
    """The user's function."""
    with open(source, encoding="utf-8") as file:
        code = compile(file.read(), os.path.basename(source), "exec")
    names: dict[str, object] = {"__name__": "evaluator"}
    exec(code, names)  # noqa: S102  this is what the sandbox is for
    judge = names[function]
    if not callable(judge):
        raise TypeError(f"{function} is no function")
    return judge


def answer(judge: Callable[..., object], row: dict[str, object]) -> dict[str, object]:
    """What becomes of one row."""
    try:
        return {"id": row["id"], **scored(judge(row["input"], row.get("expected"), row["output"]))}
    except BaseException as error:  # noqa: BLE001  an exit is no score either
        return {"id": row["id"], "error": told(error)}


def scored(found: object) -> dict[str, object]:
    """A function answers with a number, a boolean, or a dictionary with a score and a label."""
    label = None
    if isinstance(found, dict):
        label = found.get("label")
        found = found["score"]
    score = float(found)  # type: ignore[arg-type]  # what is none raises
    if not math.isfinite(score) or not 0 <= score <= 1:
        raise ValueError(f"{score} is no score from 0 to 1")
    return {"score": score, "label": None if label is None else str(label)[:LONGEST_TEXT]}


def told(error: BaseException) -> str:
    """An exception in words, whatever its own text raises."""
    try:
        return f"{type(error).__name__}: {error}"[:LONGEST_TEXT]
    except BaseException:  # noqa: BLE001
        return type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
