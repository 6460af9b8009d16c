"""The process that runs a user's SQL: it can read the files it is given, and nothing else of this machine.

Settings come on standard input, the answer goes to standard output as an Arrow stream, an error to standard error as
JSON. DuckDB's own doors are shut and locked before the query is seen; the operating system's limits stand behind them.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from itertools import chain, count
from pathlib import Path
from typing import Any

__all__ = ["main"]

_ROWS: int = 65_536
"""Of a piece of the answer."""
_AROUND: int = 3
"""Times the memory that a query may use is what the process may map: libraries and buffers take address space."""


_WATCHER: int = 512 << 20
"""Bytes that the thread which waits for the parent's end may map beside that: its stack, and an arena of malloc's."""


def main() -> None:
    """Run one query."""
    settings: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    _confine(settings)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import duckdb
    import pyarrow as pa

    try:
        with duckdb.connect(":memory:", config=_config(settings)) as connection:
            _shut(connection, settings)
            _attach(connection, settings)
            connection.execute("SET lock_configuration = true")
            reader = _selected(connection, settings["sql"]).to_arrow_reader(_ROWS)
            schema = pa.schema([one.with_name(name) for one, name in zip(reader.schema, _names(reader), strict=True)])
            with pa.ipc.new_stream(sys.stdout.buffer, schema) as writer:
                for batch in reader:
                    writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    except (duckdb.Error, ValueError, RuntimeError, pa.ArrowException) as error:
        _fail("query-failed", str(error))
    except MemoryError:
        _fail("query-too-long", "It takes more memory than a query may.")


def _end_with_parent() -> None:
    """Whoever asked holds standard input open until the answer is read, or is gone."""
    while os.read(sys.stdin.fileno(), 1):  # not by its buffer, which a thread that waits would hold at the end
        pass
    os._exit(4)


def _names(reader: Any) -> list[str]:
    """Names of its columns, each once: a second ``a`` is ``a_2``."""
    names: list[str] = []
    for name in reader.schema.names:
        candidates = chain([name], (f"{name}_{number}" for number in count(2)))
        names.append(next(one for one in candidates if one not in names))
    return names


def _confine(settings: dict[str, Any]) -> None:
    """No file can be written, no process started, and what goes wrong leaves no core of other people's rows."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = int(settings["memory_mb"]) << 20
    mapped = most * _AROUND + _WATCHER
    resource.setrlimit(resource.RLIMIT_AS, (mapped, mapped))
    seconds = int(settings["seconds"]) * int(settings["threads"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _config(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "memory_limit": f"{settings['memory_mb']}MB",
        "threads": settings["threads"],
        "allow_community_extensions": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": "",
        "max_temp_directory_size": "0KB",
    }


def _shut(connection: Any, settings: dict[str, Any]) -> None:
    """DuckDB names what may be read only once it runs, and before everything else is shut."""
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in _files(settings))
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")


def _files(settings: dict[str, Any]) -> list[str]:
    return [*settings["files"], *settings["staged"], settings["sums"], settings["rollups"]]


def _attach(connection: Any, settings: dict[str, Any]) -> None:
    from proctor.results.schema import result_schema
    from proctor.results.views import attach, attach_daily, attach_rollups, parquet

    staged, nothing = [Path(file) for file in settings["staged"]], result_schema().empty_table()
    attach(connection, [*map(Path, settings["files"]), *staged], nothing)
    attach_rollups(connection, Path(settings["rollups"]))
    attach_daily(connection, parquet(Path(settings["sums"])), [*map(Path, settings["not_summed"]), *staged], nothing)


def _selected(connection: Any, sql: str) -> Any:
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        _fail("query-refused", "It must be one SELECT.")
    return connection.execute(statements[0])


def _fail(code: str, message: str) -> None:
    sys.stderr.write(json.dumps({"code": code, "message": message[:2000]}))
    sys.stderr.flush()
    sys.exit(3)


if __name__ == "__main__":
    main()
