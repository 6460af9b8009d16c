"""Files of results open in Polars, pandas and ClickHouse, which say of them what we say."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from proctor.kernel.ids import new_id
from proctor.results.schema import encoded, result_writer
from tests.data.test_results import rows
from tests.foreign.conftest import Ask
from tests.foreign.environments import CHDB

GOLDEN = (
    "SELECT evaluator, status, count(*), count(score), coalesce(sum(score), 0.0)"
    " FROM read_parquet('{}') GROUP BY ALL ORDER BY ALL"
)


def table() -> pa.Table:
    """Results of two evaluators, some without a score."""
    job = new_id()
    right, shares = rows(job, 0, 3000), rows(job, 0, 500, evaluator="zeta", score=0.125)
    refused = rows(job, 500, 7, evaluator="zeta").to_pydict() | {"score": [None] * 7, "status": ["refused"] * 7}
    return pa.concat_tables([right, shares, pa.table(refused, schema=right.schema)])


@pytest.mark.parametrize("written", ["as a worker does", "as a merger does"])
def test_golden_queries_agree(ask: Ask, tmp_path: Path, written: str) -> None:
    path = tmp_path / "results.parquet"
    if written == "as a worker does":
        path.write_bytes(encoded(table()))
    else:
        with result_writer(path) as writer:
            writer.write_table(table(), row_group_size=1000)
    with duckdb.connect() as connection:
        ours = json.loads(json.dumps(connection.execute(GOLDEN.format(path)).fetchall()))
    assert len(ours) == 3
    assert ask(CHDB, "results", {"parquet": str(path)}) == {"polars": ours, "pandas": ours, "chdb": ours}
