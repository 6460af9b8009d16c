"""Files of outputs: JSONL, CSV or Parquet, a row for each output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.datasets.examples import TOO_DEEP, json_text
from proctor.datasets.fields import FieldInvalid, Raw
from proctor.datasets.formats.rows import Row
from proctor.datasets.problems import Problem, Problems
from proctor.evaluators.statuses import Status
from proctor.jobs.chunks import REPEATS
from proctor.jobs.errors import SamplesInvalid
from proctor.jobs.samples import Arrived

__all__ = ["OutputFields", "outputs_of"]

_KINDS = ".jsonl, .json, .csv or .parquet"


@dataclass(frozen=True, kw_only=True)
class OutputFields:
    """What a file calls its fields."""

    id: str = "id"
    output: str = "output"
    repeat: str = "repeat"
    status: str = "status"
    model: str = "model"


def outputs_of(path: Path, fields: OutputFields, problems: Problems) -> Iterator[Arrived]:
    """The outputs of a file, one by one; rows that are none become problems. Raises ``SamplesInvalid`` for a file that
    can't be read."""
    for row in _rows(path):
        try:
            if isinstance(row.raw, FieldInvalid):
                raise row.raw
            arrived = _arrived(row.number, row.raw, fields)
        except FieldInvalid as error:
            problems.add(Problem(row=row.number, field=error.field, reason=error.reason))
        else:
            yield arrived


def _rows(path: Path) -> Iterator[Row]:
    from proctor.datasets.formats.arrow_rows import parquet_rows
    from proctor.datasets.formats.csv_rows import csv_rows
    from proctor.datasets.formats.json_rows import json_rows

    readers = {".jsonl": json_rows, ".json": json_rows, ".csv": csv_rows, ".parquet": parquet_rows}
    reader = readers.get(path.suffix.lower())
    if reader is None or not path.is_file():
        raise SamplesInvalid(f"It must be a file named {_KINDS}.", where=str(path))
    yield from reader(path)


def _arrived(number: int, raw: Raw, fields: OutputFields) -> Arrived:
    text, is_json = _output(raw.get(fields.output), fields.output)
    return Arrived(
        number=number,
        example=_text(raw.get(fields.id), fields.id),
        repeat=_repeat(raw.get(fields.repeat), fields.repeat),
        output=text,
        is_json=is_json,
        status=_status(raw.get(fields.status), fields.status, has_output=text is not None),
        model=None if raw.get(fields.model) is None else _text(raw[fields.model], fields.model),
    )


def _output(value: object, name: str) -> tuple[str | None, bool]:
    if value is None:
        return None, False
    try:
        return json_text(value)  # type: ignore[arg-type]  # what is no JSON is told
    except RecursionError as error:
        raise FieldInvalid(name, TOO_DEEP) from error
    except (ValueError, TypeError) as error:
        raise FieldInvalid(name, "it is neither text nor JSON") from error


def _text(value: object, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise FieldInvalid(name, "it must be a text")
    return value


def _repeat(value: object, name: str) -> int:
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < REPEATS:
        raise FieldInvalid(name, f"it must be a whole number from 0 to {REPEATS - 1}")
    return value


def _status(value: object, name: str, *, has_output: bool) -> Status | None:
    if value is None or (has_output and value == ""):
        return None
    known = [one.value for one in Status if one is not Status.SCORED]
    if has_output or value not in known:
        raise FieldInvalid(name, f"without an output it may be one of {', '.join(known)}; with one there is none")
    return Status(value)
