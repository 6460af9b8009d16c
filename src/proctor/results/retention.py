"""Retention: results of jobs that are not kept go when they are old enough, and their daily sums stay a while longer.

A batch stops counting in the very transaction in which its sums are added to the rollups, so that each of its rows is
counted once, in one or the other, whoever is killed and however many try at once. A row that comes late is in a batch
of its own: it is added to the same sums when its time has come. Objects go as those of merged batches do, once no query
can be reading them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.kernel.errors import UsageError
from proctor.objects.store import ObjectStore
from proctor.results.batches import Batch
from proctor.results.reading import ResultReader, staged
from proctor.results.rollups import add
from proctor.results.service import batch_of
from proctor.results.sums import summed
from proctor.results.views import attach

__all__ = ["LONGEST_DAYS", "Retainer", "Retention", "RetentionInvalid", "retention", "set_retention"]

RESULT_DAYS: int = 30
"""A month to look into single results."""
ROLLUP_DAYS: int = 365
"""A year of daily means, for a season beside the last one of its kind."""
LONGEST_DAYS: int = 36_500
"""A century is for ever."""
_PAGE: int = 100
"""Batches that are looked up at a time; each has a transaction of its own."""

_run = partial(run_query, "proctor.results")


class RetentionInvalid(UsageError):
    """Results can't be kept for so long."""

    code = "retention-invalid"
    remedy = "Name days from 1 to 36500, of rollups no fewer than of results."


@dataclass(frozen=True, kw_only=True)
class Retention:
    """For how many days a tenant keeps results of jobs that are not kept, and their rollups."""

    result_days: int = RESULT_DAYS
    rollup_days: int = ROLLUP_DAYS

    def __post_init__(self) -> None:
        """Raises ``RetentionInvalid``."""
        if not 1 <= self.result_days <= LONGEST_DAYS:
            raise RetentionInvalid(where="result_days")
        if not self.result_days <= self.rollup_days <= LONGEST_DAYS:
            raise RetentionInvalid(where="rollup_days")


def retention(connection: Connection, tenant: UUID) -> Retention:
    """What a tenant set, or what holds for one that set nothing."""
    row = _run(connection, "retention", tenant=tenant).one_or_none()
    return Retention() if row is None else Retention(result_days=row.result_days, rollup_days=row.rollup_days)


def set_retention(connection: Connection, tenant: UUID, wanted: Retention) -> None:
    """Set for how long a tenant keeps them."""
    days = {"result_days": wanted.result_days, "rollup_days": wanted.rollup_days}
    _run(connection, "set_retention", tenant=tenant, **days)


class Retainer:
    """Lets results of one tenant go. Safe to be killed at any point, and to run twice at once."""

    def __init__(self, database: Database, objects: ObjectStore, tenant: UUID, folder: Path) -> None:
        """``folder``: for copies of objects that are kept elsewhere."""
        self._database, self._tenant, self._folder = database, tenant, folder
        self._reader = ResultReader(database, objects, tenant, folder)

    def let_go(self, jobs: Sequence[UUID]) -> int:
        """Of jobs that are not kept, turn batches that are old enough into rollups, and forget old rollups.

        Returns how many batches went. A batch goes when the youngest of its rows is old enough.
        """
        kept = self._database.as_tenant(self._tenant, lambda c: retention(c, self._tenant))
        gone = 0
        while batches := self._aged(jobs, kept.result_days):
            gone += sum(self._roll_up(batch) for batch in batches)
        forgotten = {"tenant": self._tenant, "days": kept.rollup_days}
        self._database.as_tenant(self._tenant, lambda c: _run(c, "forget_rollups", **forgotten))
        return gone

    def _aged(self, jobs: Sequence[UUID], days: int) -> list[Batch]:
        wanted = {"tenant": self._tenant, "jobs": list(jobs), "days": days, "limit": _PAGE}
        return self._database.as_tenant(self._tenant, lambda c: [batch_of(row) for row in _run(c, "aged", **wanted)])

    def _roll_up(self, batch: Batch) -> bool:
        """Let a batch's sums count in its place; not where another did, or it was merged or held meanwhile."""
        sums = self._sums(batch)

        def work(connection: Connection) -> bool:
            ended = _run(connection, "supersede", tenant=self._tenant, ids=[batch.id], held=False).all()
            if ended:
                add(connection, self._tenant, sums)
            return bool(ended)

        return self._database.as_tenant(self._tenant, work)

    def _sums(self, batch: Batch) -> Sequence[Mapping[str, Any]]:
        if batch.sums is not None:
            return batch.sums
        import duckdb

        with tempfile.TemporaryDirectory(dir=self._folder) as spill:
            config: dict[str, str | bool | int | float | list[str]] = {"threads": 2, "temp_directory": spill}
            with duckdb.connect(":memory:", config=config) as connection:
                attach(connection, self._reader.files([batch]), staged([batch]))
                return summed(connection)
