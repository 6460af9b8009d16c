"""Questions over all rows of versions, which may be larger than memory: DuckDB, kept small, spilling to disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.database.queries import query_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Files", "Workbench", "workbench"]

MEMORY: str = "256MB"
"""Of DuckDB: with a row group that is written and Python itself, an import stays within a gigabyte."""
THREADS: int = 2
"""Each needs a share of the memory, and a server has other work."""
_ROWS: int = 10_000
"""Of an answer that are fetched at once."""


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files of a version's rows, or of several versions' one after the other, with the rows of each."""

    paths: Sequence[Path]
    rows: Sequence[int]

    @property
    def names(self) -> list[str]:
        """For DuckDB."""
        return [str(path) for path in self.paths]

    @property
    def firsts(self) -> list[int]:
        """The position of each file's first row."""
        return [sum(self.rows[:number]) for number in range(len(self.rows))]

    def __add__(self, other: Files) -> Files:
        return Files(paths=[*self.paths, *other.paths], rows=[*self.rows, *other.rows])


class Workbench:
    """Answers the queries of ``queries.sql``."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, name: str, /, **parameters: object) -> Iterator[tuple[Any, ...]]:
        """The rows of an answer, a few at a time."""
        answer = self._connection.execute(query_text(__package__ or "", name), parameters)
        while found := answer.fetchmany(_ROWS):
            yield from found

    def of(self, name: str, files: Files, /, **parameters: object) -> Iterator[tuple[Any, ...]]:
        """The same for a query over one list of files, with the positions of their rows."""
        return self.rows(name, files=files.names, firsts=files.firsts, **parameters)

    def make(self, name: str, files: Files, /, **parameters: object) -> None:
        """A table of its own, of a query over one list of files, for the queries after it."""
        named = {"files": files.names, "firsts": files.firsts, **parameters}
        text = query_text(__package__ or "", name)
        self._connection.execute(text, {key: value for key, value in named.items() if f"${key}" in text})


@contextmanager
def workbench(folder: Path) -> Iterator[Workbench]:
    """One that spills into a folder of its own below ``folder``; it reads files, loads nothing and asks no network."""
    import duckdb

    settings: Mapping[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "temp_directory": str(folder / "spill"),
        "threads": THREADS,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,  # every query that needs an order says so, and keeping one takes memory
    }
    connection = duckdb.connect(":memory:", config=dict(settings))
    try:
        yield Workbench(connection)
    finally:
        connection.close()
