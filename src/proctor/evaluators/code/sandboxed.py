"""``python`` and ``command``: a user's code over a batch of rows, in a sandbox that is made for it and gone after it.

What a program prints is a score only in a line with a row's id. Ids are random, are made here for each batch, and stand
nowhere but in the rows themselves: text that was made before, such as an output that is judged, can't hold one.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from proctor.evaluators.code.answers import LONGEST_LINE, LONGEST_TEXT, read_answers
from proctor.evaluators.code.programs import FOLDER, Program
from proctor.evaluators.code.rooms import Rooms
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.samples import Score, scores_of
from proctor.evaluators.statuses import Status
from proctor.kernel.errors import ProctorError
from proctor.sandboxes.interfaces import (
    ExecRequest,
    ExecResult,
    LimitKind,
    Limits,
    Sandbox,
    SandboxSpec,
)

__all__ = ["SandboxedCode", "fresh_ids", "run_program", "unanswered"]

_PROCESSES: int = 64
"""A program that judges and its children; a fork bomb ends here."""
_DISK_MB: int = 256
_FILE_MB: int = 64
_CPUS: float = 1.0
_LEAST_OUTPUT: int = 1024 * 1024
_MOST_OUTPUT: int = 64 * 1024 * 1024
"""Bytes kept of what is printed, the last ones: all answers of 2,000 rows at their longest."""
_MARGIN: timedelta = timedelta(minutes=10)
"""How much longer than its time limit a sandbox may be there: it has to be made, filled and removed."""


class SandboxedCode:
    """Implements ``WaitingEvaluator``."""

    def __init__(self, program: Program, rooms: Rooms) -> None:
        self._program, self._rooms = program, rooms

    async def score(self, samples: Samples) -> Scores:
        """A row for each sample. Rows that were answered before the program was ended keep their answers."""
        if not len(samples):
            return scores_of([])
        ids = fresh_ids(len(samples))
        stdin = "".join(_lines(samples, ids)).encode()
        try:
            result = await run_program(self._program, self._rooms, stdin, output_limit=len(samples) * LONGEST_LINE)
        except ProctorError as error:
            told = f"{error.message or error.code}"[:LONGEST_TEXT]
            return scores_of([Score(score=None, status=Status.SANDBOX_ERROR, error=told)] * len(samples))
        answers, (status, why) = read_answers(result.stdout, ids), unanswered(result)
        missing = Score(score=None, status=status, error=why)
        return scores_of([answers.get(number, missing) for number in range(len(samples))])


def fresh_ids(rows: int) -> dict[str, int]:
    """A random id for each row, with its number."""
    return {secrets.token_hex(16): number for number in range(rows)}


async def run_program(program: Program, rooms: Rooms, stdin: bytes, *, output_limit: int) -> ExecResult:
    """What a program makes of its input, in a sandbox that is there for it alone. Raises what the sandbox raises."""
    limits = Limits(memory_mb=program.memory_mb, cpus=_CPUS, pids=_PROCESSES, disk_mb=_DISK_MB, file_size_mb=_FILE_MB)
    labels = rooms.labels(timedelta(seconds=program.time_limit_sec) + _MARGIN)
    sandbox = await rooms.backend.create(SandboxSpec(labels=labels, limits=limits))
    try:
        await _put(sandbox, program.files)
        request = ExecRequest(
            argv=program.argv,
            stdin=stdin,
            cwd=FOLDER,
            timeout_sec=program.time_limit_sec,
            output_limit=min(_LEAST_OUTPUT + output_limit, _MOST_OUTPUT),
        )
        return await sandbox.exec(request)
    finally:
        with suppress(ProctorError):  # what can't be removed now is the reaper's
            await sandbox.destroy()


async def _put(sandbox: Sandbox, files: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="proctor-evaluator-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
        await sandbox.put(folder, FOLDER)


def _lines(samples: Samples, ids: Iterable[str]) -> Iterator[str]:
    """A row for each sample. What is JSON already goes in as it is, however deep it may be."""
    parts = {"input": samples.input, "expected": samples.expected, "output": samples.output}
    flags = (samples.input_is_json, samples.expected_is_json, samples.output_is_json)
    rows = zip(*(column.to_pylist() for column in parts.values()), strict=True)
    kinds = zip(*(column.to_pylist() for column in flags), strict=True)
    for identity, row, is_json in zip(ids, rows, kinds, strict=True):
        said = [f'"id": "{identity}"']
        for name, text, as_it_is in zip(parts, row, is_json, strict=True):
            if text is not None:
                said.append(f'"{name}": {text if as_it_is else json.dumps(text)}')
        yield f"{{{', '.join(said)}}}\n"


def unanswered(result: ExecResult) -> tuple[Status, str]:
    """What becomes of a row that has no answer, and why."""
    if result.limit is LimitKind.WALL:
        return Status.TIMEOUT, "the time limit of the batch was over"
    if result.oom or result.limit is LimitKind.MEMORY:
        why = "the memory limit ended the program"
    elif result.truncated:
        why = "the program printed so much that its answer is lost"
    elif result.limit is not None:
        why = f"the {result.limit.value} limit ended the program"
    else:
        ended = f"signal {result.signal}" if result.signal is not None else f"exit code {result.exit_code}"
        why = f"the program ended with {ended} and did not answer{_last_words(result.stderr)}"
    return Status.EVALUATOR_ERROR, why


def _last_words(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").replace("\0", "").strip().splitlines()
    return f": {lines[-1][:LONGEST_TEXT]}" if lines else ""
