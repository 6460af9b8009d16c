"""Asks golden queries of a Parquet file of results: of polars, pandas and chDB (ClickHouse)."""

import json
import sys

import chdb
import pandas
import polars

asked = json.load(sys.stdin)
path = asked["parquet"]


def by_polars() -> list[list[object]]:
    frame = polars.read_parquet(path).with_columns(polars.col("evaluator", "status").cast(polars.String))
    grouped = frame.group_by("evaluator", "status").agg(
        polars.len().alias("n"), polars.col("score").count().alias("scored"), polars.col("score").sum().alias("total")
    )
    return [list(row) for row in grouped.sort("evaluator", "status").rows()]


def by_pandas() -> list[list[object]]:
    frame = pandas.read_parquet(path)
    grouped = frame.groupby(["evaluator", "status"], observed=True)["score"].agg(["size", "count", "sum"])
    rows = [[*key, int(row["size"]), int(row["count"]), float(row["sum"])] for key, row in grouped.iterrows()]
    return sorted(rows)  # its own order of categories is that of their codes


def by_chdb() -> list[list[object]]:
    query = (
        "SELECT evaluator, status, toUInt32(count()), toUInt32(count(score)), ifNull(sum(score), 0.0)"
        f" FROM file('{path}', Parquet) GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return [json.loads(line) for line in str(chdb.query(query, "JSONCompactEachRow")).splitlines()]


json.dump({"polars": by_polars(), "pandas": by_pandas(), "chdb": by_chdb()}, sys.stdout)
