"""Rollups: what is left of results that were not kept, by day, evaluator, model and status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.results.sums import as_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["add", "rollups"]

_run = partial(run_query, "proctor.results")


def add(connection: Connection, tenant: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add sums, in the transaction in which what they are of stops counting."""
    _run(connection, "add_rollups", tenant=tenant, rows=json.dumps(rows))


def rollups(connection: Connection, tenant: UUID) -> pa.Table:
    """A tenant's rollups."""
    return as_table(dict(row._mapping) for row in _run(connection, "rollups", tenant=tenant))
