"""The results of jobs as columns: DuckDB selects and joins, numpy arrays come out, no object is made for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.database.queries import query_text
from proctor.datasets.reading import local_parts
from proctor.datasets.versions import DatasetVersion
from proctor.jobs.analyses.adding import Added, added
from proctor.jobs.analyses.values import JobReference
from proctor.jobs.errors import JobInvalid
from proctor.jobs.values import Job
from proctor.objects.parquet import PART_ROWS
from proctor.objects.store import ObjectStore
from proctor.results.reading import ResultReader
from proctor.results.views import Which

if TYPE_CHECKING:
    import duckdb

    from proctor.analysis.arrays import Places, Vector

__all__ = ["Book", "Shelf", "chosen", "reference_of"]

Word = str | int | float | None


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Where results and examples of one tenant are. ``scratch``: a folder for what is not kept."""

    reader: ResultReader
    objects: ObjectStore
    version: Callable[[UUID], DatasetVersion]
    scratch: Path

    @contextmanager
    def opened(self, *jobs: Job) -> Iterator[Book]:
        """The results of those jobs. Raises ``DataExtraMissing``, ``ObjectMissing``."""
        which = Which(jobs=tuple({job.id for job in jobs}))
        with TemporaryDirectory(dir=self.scratch) as folder, self.reader.opened(which) as connection:
            yield Book(self, connection, Path(folder))


class Book:
    """Results of some jobs, opened."""

    def __init__(self, shelf: Shelf, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._shelf, self._connection, self._folder = shelf, connection, folder

    def run(self, name: str, **words: Word) -> duckdb.DuckDBPyConnection:
        """Execute one of the blocks of ``queries.sql``."""
        return self._connection.execute(query_text("proctor.jobs.analyses", name), words or None)

    def number(self, name: str, **words: Word) -> int:
        """The one count of a block."""
        (row,) = self.run(name, **words).fetchall()
        return int(row[0])

    def column(self, column: str, name: str, **words: Word) -> Vector:
        """A column of a block that has no gaps."""
        return self.run(name, **words).fetchnumpy()[column]

    def scores(self, job: Job, evaluator: str) -> tuple[Vector, Places]:
        """Scores of one evaluator, and the row of each, in the order of rows and repeats."""
        found = self.run("scored", job=str(job.id), evaluator=evaluator).fetchnumpy()
        return found["score"], found["row"]

    def added(self, job: Job, evaluator: str) -> Added:
        """The scores of an evaluator in a job, added up."""
        return added(self._connection, job, evaluator)

    def attach_examples(self, job: Job, name: str) -> None:
        """Have the examples of a job as a view: ``row``, ``id``, ``difficulty``, ``source``, ``tags``.

        Of a stream they are those that have results, each id once, and they have no labels. Raises
        ``DatasetUnknown``, ``ObjectMissing``, ``ObjectDamaged``.
        """
        if job.dataset_version is None:
            self._connection.execute(f"CREATE TEMP VIEW {name} AS {_STREAMED.format(job=job.id)}")
            return
        files = local_parts(self._shelf.objects, self._shelf.version(job.dataset_version), self._folder)
        parts = [_part_query(str(file), number * PART_ROWS) for number, file in enumerate(files)]
        self._connection.execute(f"CREATE TEMP VIEW {name} AS {' UNION ALL '.join(parts)}")


_STREAMED = """
    SELECT min(row) AS row, example AS id, NULL::VARCHAR AS difficulty, NULL::VARCHAR AS source, []::VARCHAR[] AS tags
    FROM results WHERE job = '{job}' GROUP BY example
"""


def _part_query(path: str, first: int) -> str:
    """The examples of a part; ``first``: the position of its first row in the version."""
    quoted = "'" + path.replace("'", "''") + "'"
    return (
        f"SELECT file_row_number + {first} AS row, id, difficulty, source, tags "  # noqa: S608  a path of our own
        f"FROM read_parquet({quoted}, file_row_number = true)"
    )


def reference_of(job: Job) -> JobReference:
    """Which job that is."""
    return JobReference(id=job.id, name=job.name, dataset=job.dataset)


def chosen(job: Job, wanted: Sequence[str]) -> list[str]:
    """The evaluators that are wanted of a job; without any, all that judged everything.

    Raises ``JobInvalid`` for one it has not, or that judged what routing chose: these numbers would be of a part.
    """
    names = [judge.name for judge in job.judges]
    routed = {judge.name for judge in job.judges if judge.route is not None}
    for name in wanted:
        if name in routed:
            told = f"{name} judged what routing chose, and this would be a number of that part alone."
            remedy = "Its weighted mean is in `proctor job show`; `proctor sql` has its rows with their probability."
            raise JobInvalid(told, where="evaluator", remedy=remedy)
        if name not in names:
            there = ", ".join(names)
            raise JobInvalid(f"{job.name} was not judged by {name[:100]!r}; there is {there}.", where="evaluator")
    return list(dict.fromkeys(wanted)) or [name for name in names if name not in routed]
