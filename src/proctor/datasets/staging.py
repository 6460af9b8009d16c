"""Rows of a file become the parts of a version in a folder; what is wrong with any of them is told by row and field."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

from proctor.datasets.errors import RowsMalformed
from proctor.datasets.examples import Example
from proctor.datasets.fields import FieldInvalid, Fields, read_example
from proctor.datasets.formats.rows import Row
from proctor.datasets.problems import Problem, Problems
from proctor.datasets.schema import table_of
from proctor.datasets.selecting import without
from proctor.datasets.workbench import Files, workbench
from proctor.datasets.writing import VersionWriter, Written
from proctor.objects.parquet import GROUP_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Staged", "files_of", "stage", "written_tables"]

_PORTION_ROWS: int = 1000
_PORTION_BYTES: int = 8 << 20
"""Examples that are held as Python's own values at once."""
_NUMBER = struct.Struct("<q")


@dataclass(frozen=True, kw_only=True)
class Staged:
    """What was written. ``left_out``: how many rows are no examples; ``problems``: the first ``KEPT`` of theirs."""

    written: Written
    left_out: int
    problems: tuple[Problem, ...]


class _Numbers:
    """The number in its file of each row that was written, on disk: eight bytes a row."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.count = 0

    def add(self, number: int) -> None:
        self.count += 1
        self._file.write(_NUMBER.pack(number))

    def at(self, position: int) -> int:
        self._file.seek(position * _NUMBER.size)
        (number,) = _NUMBER.unpack(self._file.read(_NUMBER.size))
        return int(number)


class _Portions:
    """Examples on their way into a version, a portion at a time."""

    def __init__(self, writer: VersionWriter, numbers: _Numbers, on_rows: Callable[[int], None]) -> None:
        self._writer, self._numbers, self._on_rows = writer, numbers, on_rows
        self._examples: list[Example] = []
        self._bytes = 0

    def __enter__(self) -> _Portions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()

    def add(self, number: int, example: Example) -> None:
        self._examples.append(example)
        self._bytes += example.size()
        self._numbers.add(number)
        if len(self._examples) >= _PORTION_ROWS or self._bytes >= _PORTION_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._examples:
            self._writer.add(table_of(self._examples))
            self._on_rows(len(self._examples))
        self._examples, self._bytes = [], 0


def stage(
    rows: Iterator[Row], fields: Fields, folder: Path, *, where: str, skip: bool, on_rows: Callable[[int], None]
) -> Staged:
    """Write rows as a version's parts below ``folder``, every id once. ``where``: what the file is called.

    ``skip``: rows that are no examples, and later rows of an id, are left out. Raises ``RowsMalformed`` naming the
    first of them where they are not to be or none is left, ``SourceInvalid``, ``DatasetEmpty``.
    """
    problems = Problems()
    place = folder / "parts"
    place.mkdir()
    with (folder / "numbers").open("w+b") as file, VersionWriter(place) as writer:
        numbers = _Numbers(file)
        with _Portions(writer, numbers, on_rows) as portions:
            for number, example in _examples(rows, fields, problems):
                if skip or not problems.count:
                    portions.add(number, example)
        if problems.count and not skip:
            raise _refusal(problems, where)
        if problems.count and not numbers.count:
            raise _refusal(problems, where, remedy="Correct them: no row is an example. Nothing was imported.")
        written = writer.finish()
        repeated = _repeated(written, folder, numbers, problems)
    if not repeated:
        return Staged(written=written, left_out=problems.count, problems=problems.in_order)
    if not skip:
        raise _refusal(problems, where)
    once = _first_ones(written, folder)
    return Staged(written=once, left_out=problems.count, problems=problems.in_order)


def _examples(rows: Iterator[Row], fields: Fields, problems: Problems) -> Iterator[tuple[int, Example]]:
    for number, raw in rows:
        try:
            if isinstance(raw, FieldInvalid):
                raise raw
            example = read_example(raw, fields)
        except FieldInvalid as error:
            problems.add(Problem(row=number, field=error.field, reason=error.reason))
        else:
            yield number, example


def _repeated(written: Written, folder: Path, numbers: _Numbers, problems: Problems) -> bool:
    """Whether ids come again; each such row is a problem."""
    before = problems.count
    with workbench(folder) as asked:
        for position, first, identity in asked.of("repeated", files_of(written)):
            reason = f"row {numbers.at(first):,} has the id {identity[:100]!r} too"
            problems.add(Problem(row=numbers.at(position), field="id", reason=reason))
    return problems.count > before


def _first_ones(written: Written, folder: Path) -> Written:
    place = folder / "once"
    place.mkdir()
    with workbench(folder) as asked, VersionWriter(place) as writer:
        positions = (row[0] for row in asked.of("repeated", files_of(written)))
        for table in without(written_tables(written), positions):
            writer.add(table)
        return writer.finish()


def _refusal(problems: Problems, where: str, remedy: str | None = None) -> RowsMalformed:
    return RowsMalformed(problems.told("can't be imported"), where=where, remedy=remedy)


def files_of(written: Written) -> Files:
    """Its parts, to be asked about."""
    return Files(paths=[part.path for part in written.parts], rows=[part.rows for part in written.parts])


def written_tables(written: Written) -> Iterator[pa.Table]:
    """Its rows in their order, a row group at a time."""
    import pyarrow.parquet as pq

    for part in written.parts:
        with pq.ParquetFile(part.path, pre_buffer=False) as file:
            for group in range(-(-part.rows // GROUP_ROWS)):
                yield file.read_row_group(group, use_threads=False)
