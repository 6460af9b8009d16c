"""A user's SQL over their tenant's results, in a process of its own that is ended when it takes too long."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from proctor.kernel.extras import need_data_extra
from proctor.results.errors import QueryFailed, QueryRefused, QueryTooLong
from proctor.results.reading import ResultReader, staged, told_apart
from proctor.results.views import Which

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Answer", "QueryLimits", "answer"]

_ERRORS = {one.code: one for one in (QueryFailed, QueryRefused, QueryTooLong)}
_LONGEST_SQL: int = 1 << 20


@dataclass(frozen=True, kw_only=True)
class QueryLimits:
    """What one query may take; of a server's users ``seconds`` is less than a request may take."""

    memory_mb: int = 2048
    threads: int = 2
    seconds: int = 300


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a query says: its columns, and its rows as they come. Raises while they are read as ``answer`` does."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


@contextmanager
def answer(
    reader: ResultReader, which: Which, sql: str, folder: Path, limits: QueryLimits | None = None
) -> Iterator[Answer]:
    """The answer of one SELECT over ``results``, ``daily`` and ``rollups``. ``folder``: for staged rows meanwhile.

    Raises ``QueryRefused``, ``QueryFailed``, ``QueryTooLong``, ``DataExtraMissing``.
    """
    need_data_extra()
    limits = limits or QueryLimits()
    if len(sql) > _LONGEST_SQL:
        raise QueryRefused("It is longer than a million characters.", where="sql")
    batches = reader.batches(which)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        rows = staged(batches)
        kept = [_written(Path(place) / "staged.parquet", rows)] if rows.num_rows else []
        summed, others = told_apart(batches)
        settings = {
            "files": [str(file) for file in reader.files(batches)],
            "staged": kept,
            "not_summed": [str(file) for file in reader.files(others)],
            "sums": _written(Path(place) / "sums.parquet", summed),
            "rollups": _written(Path(place) / "rollups.parquet", reader.rollups()),
            "sql": sql,
            **asdict(limits),
        }
        with _process(limits.seconds) as process:
            yield _asked(process, settings)


@contextmanager
def _process(seconds: float) -> Iterator[_Process]:
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor.results.sql_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )
    watch = threading.Timer(seconds, process.kill)
    watch.start()
    try:
        yield _Process(process, watch)
    finally:
        watch.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


@dataclass(frozen=True)
class _Process:
    """The process of a query, and what ends it."""

    popen: subprocess.Popen[bytes]
    watch: threading.Timer


def _asked(process: _Process, settings: dict[str, Any]) -> Answer:
    import pyarrow as pa

    stdin, stdout = _pipe(process.popen.stdin), _pipe(process.popen.stdout)
    try:
        stdin.write(json.dumps(settings).encode() + b"\n")
        stdin.flush()  # and it stays open: the process ends once it is closed, by whatever ends this one
        stream = pa.ipc.open_stream(stdout)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _why(process) from error
    return Answer(schema=stream.schema, batches=_batches(process, stream))


def _batches(process: _Process, stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        yield from stream
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _why(process) from error
    if process.popen.wait() != 0:
        raise _why(process)


def _why(process: _Process) -> QueryFailed | QueryRefused | QueryTooLong:
    told = _pipe(process.popen.stderr).read()
    code = process.popen.wait()
    try:
        found = json.loads(told)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("code") in _ERRORS:
        return _ERRORS[found["code"]](str(found.get("message")), where="sql")
    if process.watch.finished.is_set():
        return QueryTooLong(f"It takes more than the {process.watch.interval:g} seconds that a query may.", where="sql")
    if code < 0:
        return QueryTooLong("It takes more memory or processor time than a query may.", where="sql")
    return QueryFailed(f"Its process ended with {code}.", where="sql")


def _written(path: Path, rows: pa.Table) -> str:
    import pyarrow.parquet as pq

    pq.write_table(rows, path)
    return str(path)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
