"""Commands as targets: a program in a sandbox without a network that makes an output of each example of a batch."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

from proctor.evaluators.code.answers import plain, read_lines
from proctor.evaluators.code.programs import Program
from proctor.evaluators.code.rooms import Rooms
from proctor.evaluators.code.sandboxed import fresh_ids, run_program, unanswered
from proctor.evaluators.statuses import Status
from proctor.jobs.replies import Made
from proctor.kernel.canonical import Json
from proctor.kernel.errors import ProctorError

__all__ = ["IN_SANDBOX", "outputs_of"]

IN_SANDBOX: int = 100
"""Examples of a sandbox: what a worker's death has made again."""
LONGEST_OUTPUT: int = 1 << 20
"""Bytes of a line with an output: a long report, each letter escaped."""


async def outputs_of(program: Program, rooms: Rooms, examples: Sequence[Mapping[str, str | None]]) -> list[Made]:
    """What a program makes of examples, in their order; what it did not answer says why."""
    ids, begun = fresh_ids(len(examples)), time.perf_counter()
    stdin = "".join(_line(identity, row) for identity, row in zip(ids, examples, strict=True)).encode()
    try:
        result = await run_program(program, rooms, stdin, output_limit=len(examples) * LONGEST_OUTPUT)
    except ProctorError as error:
        return [_failed(Status.SANDBOX_ERROR, error.message or error.code)] * len(examples)
    seconds = (time.perf_counter() - begun) / max(len(examples), 1)
    answers, missing = read_lines(result.stdout, ids, longest=LONGEST_OUTPUT), _failed(*unanswered(result))
    return [_made(answers[number], seconds) if number in answers else missing for number in range(len(examples))]


def _line(identity: str, row: Mapping[str, str | None]) -> str:
    """A row as the program reads it: what is JSON already goes in as it is."""
    given = row["input"] if row["input_is_json"] else json.dumps(row["input"])
    return f'{{"id": "{identity}", "input": {given}, "metadata": {row.get("metadata") or "{}"}}}\n'


def _made(answer: Mapping[str, Json], seconds: float) -> Made:
    output, error = answer.get("output"), answer.get("error")
    if error is not None:
        return _failed(Status.EVALUATOR_ERROR, error if isinstance(error, str) else "its error is no text")
    if not isinstance(output, str):
        return _failed(Status.EVALUATOR_ERROR, "its output is no text")
    text = output.encode("utf-8", "replace").decode().replace("\0", "")
    return Made(output=text, status=None, error=None, model="", seconds=seconds, cost_nano=0)


def _failed(status: Status, why: str) -> Made:
    return Made(output=None, status=status, error=plain(why), model="", seconds=0.0, cost_nano=0)
