"""Rows of Parquet files, and of what Hugging Face's ``datasets`` saves to disk, which is Arrow's stream format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.examples import unstored
from proctor.datasets.fields import FieldInvalid, Raw
from proctor.datasets.formats.rows import Row
from proctor.datasets.schema import schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DICT_FILE", "STATE_FILE", "hugging_face_rows", "parquet_rows"]

BATCH_ROWS: int = 256
"""Rows of others' files that are held at once: they may have megabytes each."""
STATE_FILE: str = "state.json"
"""In the folder of one saved dataset; it names the files of its rows."""
DICT_FILE: str = "dataset_dict.json"
"""In the folder of several splits, each in a folder of its own."""
_RENAME: str = "Rename or remove all but one of them and import it again. Nothing was imported."
_SMALL: int = 1 << 20
"""Bytes of a description: it names files and columns."""


def parquet_rows(path: Path) -> Iterator[Row]:
    """Rows of a file, or of a folder's ``*.parquet`` in the order of their names, counted from 1 over all."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    numbers = count(1)
    for file in files:
        with _telling(file, "Parquet file"):
            for batch in _parquet_batches(file):
                yield from _rows(batch, numbers, {})


def hugging_face_rows(folder: Path) -> Iterator[Row]:
    """Rows of a folder written by ``save_to_disk``; of several splits, each row's metadata names its own.

    Raises ``SourceInvalid``.
    """
    numbers = count(1)
    for split, place in _splits(folder):
        for name in _files(place):
            with _telling(place / name, "stream of Arrow"):
                for batch in _stream_batches(place / name):
                    yield from _rows(batch, numbers, {} if split is None else {"split": split})


def _parquet_batches(file: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.OSFile(str(file)) as source, pq.ParquetFile(source, pre_buffer=False, buffer_size=_SMALL) as opened:
        _check_names(opened.schema_arrow, file)
        yield from opened.iter_batches(batch_size=BATCH_ROWS, use_threads=False)


def _stream_batches(file: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stream:
        _check_names(stream.schema, file)
        for batch in stream:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)


def _check_names(found: pa.Schema, file: Path) -> None:
    """Raises ``SourceInvalid`` where columns have one name: as fields of a row the last would stand for all."""
    twice = _twice(list(found))
    if twice is not None:
        told = f"More than one of its columns is called {twice!r}; each has to have a name of its own."
        raise SourceInvalid(told, where=str(file), remedy=_RENAME)


def _twice(fields: Sequence[pa.Field]) -> str | None:
    """A name that fields beside one another have, at any depth."""
    seen: Counter[str] = Counter(field.name for field in fields)
    own = next((name for name, times in seen.items() if times > 1), None)
    if own is not None:
        return own
    inside = (_twice([one.type.field(place) for place in range(one.type.num_fields)]) for one in fields)
    return next((name for name in inside if name is not None), None)


def _rows(batch: pa.RecordBatch, numbers: Iterator[int], more: Raw) -> Iterator[Row]:
    of_ours = batch.schema.equals(schema(), check_metadata=False)
    for found in batch.to_pylist():
        number = next(numbers)
        try:
            raw = unstored(found) if of_ours else {name: _plain(name, value) for name, value in found.items()}
            yield Row(number, {**more, **raw})
        except FieldInvalid as error:
            yield Row(number, error)


def _plain(name: str, value: object) -> object:
    """A value as JSON has it: times as text, decimals as text; bytes are none. Raises ``FieldInvalid``."""
    if isinstance(value, Mapping):
        return {str(key): _plain(name, one) for key, one in value.items()}
    if isinstance(value, list):
        return value if not value or isinstance(value[0], str | float | int) else [_plain(name, one) for one in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        raise FieldInvalid(name, "it has bytes, which are neither text nor JSON")
    return value


def _splits(folder: Path) -> Sequence[tuple[str | None, Path]]:
    if not (folder / DICT_FILE).is_file():
        return [(None, folder)]
    names = _described(folder / DICT_FILE).get("splits")
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise SourceInvalid("It names no splits.", where=str(folder / DICT_FILE))
    return [(name, _below(folder, name)) for name in names]


def _files(folder: Path) -> Sequence[str]:
    listed = _described(folder / STATE_FILE).get("_data_files")
    names = [one.get("filename") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if not names:
        raise SourceInvalid("It names no files of rows.", where=str(folder / STATE_FILE))
    return [_below(folder, name).name for name in names]


def _below(folder: Path, name: object) -> Path:
    """Raises ``SourceInvalid`` for a name that leads elsewhere."""
    if not isinstance(name, str) or not name or Path(name).name != name or (folder / name).is_symlink():
        raise SourceInvalid(f"It names {name!r}, which is not in the folder.", where=str(folder))
    return folder / name


def _described(file: Path) -> Mapping[str, object]:
    try:
        with file.open("rb") as opened:
            found = json.loads(opened.read(_SMALL))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceInvalid("It is missing or no JSON, as `save_to_disk` writes it.", where=str(file)) from error
    return found if isinstance(found, dict) else {}


@contextmanager
def _telling(file: Path, what: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        told = f"It can't be read as a {what}; it may be another or not whole ({reason})."
        raise SourceInvalid(told, where=str(file)) from error
