"""The result store: what counts, what is read, what is merged and removed, and what a user's SQL can reach."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proctor.database.engine import Database
from proctor.identity.service import ensure_tenant
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.results.batches import STAGED_BELOW, Batch, Place, stored
from proctor.results.errors import QueryFailed, QueryRefused, QueryTooLong
from proctor.results.merging import Merger, MergeRule
from proctor.results.reading import ResultReader
from proctor.results.schema import COLUMNS, result_schema
from proctor.results.service import live, record
from proctor.results.sql import QueryLimits, answer
from proctor.results.views import Which

pytestmark = pytest.mark.database

EVERYTHING = MergeRule(rested_sec=0.0)
EVERY = Which()


def rows(job: UUID, first: int, count: int, *, evaluator: str = "exact-match", score: float | None = None) -> pa.Table:
    """Results of so many examples; without ``score`` every third is right, the others wrong."""
    scores = [float((first + n) % 3 == 0) if score is None else score for n in range(count)]
    fixed = {
        "job": str(job),
        "dataset_version": "version",
        "target": None,
        "model": "m",
        "evaluator": evaluator,
        "evaluator_version": "d" * 64,
        "repeat": 0,
        "label": None,
        "status": "scored",
        "error": None,
        "seconds": 1e-6,
        "cost_nano": 0,
        "probability": 1.0,
        "trace_id": "0" * 32,
        "time": datetime.now(UTC),
    }
    varied = {
        "row": list(range(first, first + count)),
        "example": [f"e{first + n}" for n in range(count)],
        "sample": [(first + n).to_bytes(16, "big") for n in range(count)],
        "score": scores,
    }
    columns = {name: varied.get(name) or [fixed[name]] * count for name in COLUMNS}
    return pa.table(
        [pa.array(columns[name], result_schema().field(name).type) for name in COLUMNS], schema=result_schema()
    )


class Store:
    """A tenant's results."""

    def __init__(self, database: Database, objects: ObjectStore, tenant: UUID, folder: Path) -> None:
        self.database, self.objects, self.tenant, self.folder = database, objects, tenant, folder
        self.reader = ResultReader(database, objects, tenant, folder)

    def add(self, job: UUID, tables: Sequence[pa.Table], *, token: int = 1) -> list[Batch]:
        """Each table as a chunk of the job."""
        batches = [
            stored(self.objects, Place(tenant=self.tenant, job=job, chunk=n, claim=new_id(), token=token), table)
            for n, table in enumerate(tables)
        ]
        self.database.as_tenant(self.tenant, lambda c: record(c, self.tenant, batches))
        return batches

    def live(self) -> list[Batch]:
        return self.database.as_tenant(self.tenant, lambda c: live(c, self.tenant))

    def ask(self, sql: str, which: Which = EVERY, limits: QueryLimits | None = None) -> list[dict[str, object]]:
        with answer(self.reader, which, sql, self.folder, limits) as found:
            return [row for batch in found.batches for row in batch.to_pylist()]

    def merger(self) -> Merger:
        return Merger(self.database, self.objects, self.tenant, self.folder, EVERYTHING)


@pytest.fixture
def store(database: Database, objects: ObjectStore, tenant: UUID, tmp_path: Path) -> Store:
    return Store(database, objects, tenant, tmp_path)


def test_small_batches_stay_in_the_database_large_ones_are_objects_and_both_are_read(store: Store) -> None:
    job = new_id()
    small, large = store.add(job, [rows(job, 0, STAGED_BELOW - 1), rows(job, STAGED_BELOW - 1, STAGED_BELOW)])
    assert (small.path, large.staged) == (None, None)
    assert store.objects.list(f"{store.tenant}/results/").__next__() == large.path
    with store.reader.opened(Which(jobs=(job,))) as results:
        assert results.execute("SELECT count(*), count(DISTINCT example), sum(score) FROM results").fetchone() == (
            2 * STAGED_BELOW - 1,
            2 * STAGED_BELOW - 1,
            (2 * STAGED_BELOW + 1) // 3,
        )
    assert small.counts == {"exact-match": {"scored": STAGED_BELOW - 1}}


def test_a_batch_that_is_recorded_again_counts_once(store: Store) -> None:
    job = new_id()
    batches = store.add(job, [rows(job, 0, 10)])
    store.database.as_tenant(store.tenant, lambda c: record(c, store.tenant, batches))
    assert store.ask("SELECT count(*) AS n FROM results") == [{"n": 10}]


def test_an_object_that_no_row_names_is_not_read(store: Store) -> None:
    job = new_id()
    store.add(job, [rows(job, 0, 2000)])
    stored(store.objects, Place(tenant=store.tenant, job=job, chunk=0, claim=new_id(), token=2), rows(job, 0, 2000))
    assert len(list(store.objects.list(f"{store.tenant}/results/"))) == 2
    assert store.ask("SELECT count(*) AS n FROM results") == [{"n": 2000}]


def test_merged_batches_hold_the_same_rows_sorted_and_their_parts_go_later(store: Store) -> None:
    job = new_id()
    parts = store.add(job, [rows(job, 5000, 3000), rows(job, 0, 300, evaluator="zeta"), rows(job, 0, 3000)])
    before = store.ask("SELECT evaluator, row, score, sample FROM results ORDER BY ALL")
    assert store.merger().merge() == 3
    assert store.merger().merge() == 0
    (merged,) = store.live()
    assert (merged.rows, merged.counts) == (6300, {"exact-match": {"scored": 6000}, "zeta": {"scored": 300}})
    assert store.ask("SELECT evaluator, row, score, sample FROM results ORDER BY ALL") == before
    file = store.reader.files([merged])[0]
    assert pq.read_schema(file).equals(result_schema())
    found = pq.read_table(file, columns=["evaluator", "row"]).to_pylist()
    assert found == sorted(found, key=lambda row: (row["evaluator"], row["row"]))

    assert store.merger().remove() == 0  # a query that began before may still read them
    kept = set(store.objects.list(f"{store.tenant}/results/"))
    assert {part.path for part in parts if part.path} < kept
    assert store.merger().remove(after_sec=0) == 3
    assert set(store.objects.list(f"{store.tenant}/results/")) == {merged.path}


def test_two_mergers_at_once_merge_once(store: Store) -> None:
    job = new_id()
    store.add(job, [rows(job, n * 1000, 1000) for n in range(3)])
    first, second = store.merger(), store.merger()
    (row,) = first._read(lambda c: _mergeable(c, store.tenant))
    assert first._merge_job(row.job_id, held=False, staged_only=False) == 3
    assert second._merge_job(row.job_id, held=False, staged_only=False) == 0
    assert store.ask("SELECT count(*) AS n FROM results") == [{"n": 3000}]


def _mergeable(connection: object, tenant: UUID) -> list[object]:
    from proctor.database.queries import run_query

    wanted = {"small": 1 << 30, "large": 1 << 30, "rested": 0.0, "many": 200, "limit": 10}
    return list(run_query("proctor.results", connection, "mergeable", tenant=tenant, **wanted))  # type: ignore[arg-type]


def test_queries_are_narrowed_by_job_and_by_time(store: Store) -> None:
    one, other = new_id(), new_id()
    store.add(one, [rows(one, 0, 1500)])
    between = datetime.now(UTC)
    store.add(other, [rows(other, 0, 20)])
    assert store.ask("SELECT count(*) AS n FROM results", Which(jobs=(one,))) == [{"n": 1500}]
    assert store.ask("SELECT count(*) AS n FROM results", Which(since=between)) == [{"n": 20}]
    assert store.ask("SELECT count(*) AS n FROM results", Which(until=between)) == [{"n": 1500}]


# --- what a user's SQL can't do ---------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.csv"
    path.write_text("a\nhidden\n")
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd', sep='\\0', header=false)",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/passwd')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_parquet('{other}')",
        "SELECT getenv('PATH')",
    ],
)
def test_no_file_but_the_tenants_own_is_read(
    store: Store, secret: Path, database: Database, objects: ObjectStore, tmp_path: Path, sql: str
) -> None:
    job = new_id()
    store.add(job, [rows(job, 0, 2000)])
    stranger = Store(database, objects, ensure_tenant(database, f"t-{new_id().hex}"), tmp_path)
    other = stranger.reader.files(stranger.add(job, [rows(job, 0, 2000)]))[0]
    with pytest.raises(QueryFailed) as refused:
        store.ask(sql.format(secret=secret, other=other))
    assert "hidden" not in str(refused.value)
    assert "root:" not in str(refused.value)


def test_there_are_no_secrets_to_be_seen(store: Store) -> None:
    with pytest.raises(QueryFailed):
        store.ask("SELECT * FROM duckdb_secrets()")


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '/tmp/proctor-written.csv'",
        "COPY results TO '{folder}/out.parquet'",
        "ATTACH '{folder}/new.db' AS mine",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "CREATE TABLE mine AS SELECT 1",
        "EXPORT DATABASE '{folder}/all'",
        "SELECT 1; SELECT 2",
        "SELECT 1; SET lock_configuration = false",
        "CALL pragma_version()",
        "",
    ],
)
def test_nothing_but_one_select_is_run(store: Store, tmp_path: Path, sql: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((QueryRefused, QueryFailed)):
        store.ask(sql.format(folder=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/proctor-written.csv").exists()


def test_a_query_is_ended_when_it_takes_too_long(store: Store) -> None:
    begun = time.monotonic()
    with pytest.raises(QueryTooLong, match="more than the 2 seconds"):
        store.ask(
            "SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b",
            limits=QueryLimits(seconds=2),
        )
    assert time.monotonic() - begun < 30


def test_a_query_ends_with_whoever_asked_it(store: Store, tmp_path: Path) -> None:
    """A process that is killed closes its pipes, and so its queries."""
    pq.write_table(store.reader.rollups(), tmp_path / "rollups.parquet")
    sql = "SELECT count(*) FROM range(10000000000) a, range(1000000) b"
    limits = {"memory_mb": 512, "threads": 1, "seconds": 300}
    rollups = str(tmp_path / "rollups.parquet")
    told = {"files": [], "staged": [], "not_summed": [], "sums": rollups, "rollups": rollups, "sql": sql, **limits}
    program = [sys.executable, "-m", "proctor.results.sql_process"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 4


def test_columns_of_one_name_are_told_apart(store: Store) -> None:
    assert store.ask("SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS b") == [{"a": 1, "a_2": 2, "a_2_2": 3, "b": 4}]


def test_a_query_that_wants_too_much_memory_says_so(store: Store) -> None:
    with pytest.raises((QueryFailed, QueryTooLong), match=r"(?i)memory|long"):
        store.ask(
            "SELECT list(range) AS all_of_them FROM range(200000000)", limits=QueryLimits(memory_mb=64, seconds=30)
        )


def test_wrong_sql_is_told_in_duckdbs_words(store: Store) -> None:
    with pytest.raises(QueryFailed, match="scoer"):
        store.ask("SELECT scoer FROM results")


def test_an_answer_is_what_duckdb_says_over_the_same_file(store: Store) -> None:
    job = new_id()
    (batch,) = store.add(job, [rows(job, 0, 5000)])
    sql = "SELECT status, round(score) AS s, count(*) AS n, avg(score) AS mean FROM {} GROUP BY ALL ORDER BY ALL"
    file = store.reader.files([batch])[0]
    raw = duckdb.connect().execute(sql.format(f"read_parquet('{file}')")).to_arrow_table().to_pylist()
    assert store.ask(sql.format("results")) == raw
