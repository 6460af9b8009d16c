"""A user's SQL over their tenant's results, in a process of its own that is ended when it takes too long."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from proctor.results.errors import QueryFailed, QueryRefused, QueryTooLong
from proctor.results.reading import ResultReader, staged
from proctor.results.views import Which

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["QueryLimits", "answer"]

_ERRORS = {one.code: one for one in (QueryFailed, QueryRefused, QueryTooLong)}
_LONGEST_SQL: int = 1 << 20


@dataclass(frozen=True, kw_only=True)
class QueryLimits:
    """What one query may take."""

    memory_mb: int = 2048
    threads: int = 2
    seconds: int = 300


@contextmanager
def answer(
    reader: ResultReader, which: Which, sql: str, folder: Path, limits: QueryLimits | None = None
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The answer of one SELECT over ``results``, as it comes.

    ``folder``: for staged rows meanwhile. Raises ``QueryRefused``, ``QueryFailed``, ``QueryTooLong``, also while the
    answer is read.
    """
    limits = limits or QueryLimits()
    if len(sql) > _LONGEST_SQL:
        raise QueryRefused("It is longer than a million characters.", where="sql")
    batches = reader.batches(which)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        rows = staged(batches)
        kept = [_written(Path(place), rows)] if rows.num_rows else []
        files = [str(file) for file in reader.files(batches)]
        settings = {"files": files, "staged": kept, "sql": sql, **limits.__dict__}
        process = subprocess.Popen(
            [sys.executable, "-m", "proctor.results.sql_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        watch = threading.Timer(limits.seconds, process.kill)
        watch.start()
        try:
            yield _batches(process, settings, watch)
        finally:
            watch.cancel()
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def _written(folder: Path, rows: pa.Table) -> str:
    import pyarrow.parquet as pq

    path = folder / "staged.parquet"
    pq.write_table(rows, path)
    return str(path)


def _batches(
    process: subprocess.Popen[bytes], settings: dict[str, Any], watch: threading.Timer
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    stdin, stdout = _pipe(process.stdin), _pipe(process.stdout)
    try:
        stdin.write(json.dumps(settings).encode() + b"\n")
        stdin.close()
        with pa.ipc.open_stream(stdout) as stream:
            yield from stream
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _why(process, watch) from error
    if process.wait() != 0:
        raise _why(process, watch)


def _why(process: subprocess.Popen[bytes], watch: threading.Timer) -> QueryFailed | QueryRefused | QueryTooLong:
    told = _pipe(process.stderr).read()
    code = process.wait()
    try:
        found = json.loads(told)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("code") in _ERRORS:
        return _ERRORS[found["code"]](str(found.get("message")), where="sql")
    if watch.finished.is_set() or code < 0:
        return QueryTooLong(where="sql")
    return QueryFailed(f"Its process ended with {code}.", where="sql")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
