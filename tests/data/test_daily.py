"""``daily``: results added up by day, evaluator, model and status, whether a server added them up or a query does."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pyarrow.parquet as pq
import pytest

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.results.schema import result_schema
from proctor.results.service import end_job, remove_ended
from proctor.results.sums import ROLLUP_COLUMNS
from proctor.results.views import Which
from tests.data.test_results import Store, rows
from tests.data.test_retention import NOW, aged, let_go

pytestmark = pytest.mark.database

DAILY = "SELECT * FROM daily ORDER BY ALL"
ADDED = (
    "SELECT CAST(time AT TIME ZONE 'UTC' AS DATE) AS day, evaluator, model, status, count(*) AS n,"
    " count(score) AS scored, coalesce(sum(score), 0) AS score_sum, coalesce(sum(score * score), 0) AS score_squares,"
    " min(score) AS score_min, max(score) AS score_max FROM results GROUP BY ALL ORDER BY ALL"
)


@pytest.fixture
def store(database: Database, objects: ObjectStore, tenant: UUID, tmp_path: Path) -> Store:
    return Store(database, objects, tenant, tmp_path)


def filled(store: Store) -> UUID:
    """Objects and what is staged, of two days, with and without scores and a model."""
    job = new_id()
    refused = aged(rows(job, 4000, 1200), 2, score=None, status="refused", error="no", model=None)
    store.add(job, [rows(job, 0, 1500), aged(rows(job, 2000, 1100, score=0.25), 2), refused, rows(job, 6000, 7)])
    return job


def test_it_is_the_results_added_up_before_and_after_they_are_merged(store: Store) -> None:
    filled(store)
    assert store.ask(DAILY) == store.ask(ADDED)
    assert list(store.ask(DAILY)[0]) == list(ROLLUP_COLUMNS)
    assert len(store.ask(DAILY)) == 3
    assert store.merger().merge() == 4
    assert [one.sums is None for one in store.live()] == [False]
    assert store.ask(DAILY) == store.ask(ADDED)
    filled(store)
    assert store.ask(DAILY) == store.ask(ADDED), "merged ones and fresh ones together"


def test_of_merged_results_no_file_is_read(store: Store) -> None:
    filled(store)
    store.merger().merge()
    told = store.ask(DAILY)
    (file,) = store.reader.files(store.live())
    file.chmod(0o600)
    pq.write_table(result_schema().empty_table(), file)
    assert store.ask("SELECT count(*) AS n FROM results") == [{"n": 0}]
    assert store.ask(DAILY) == told


def test_it_is_of_the_jobs_that_are_asked_of_and_of_no_other_time(store: Store) -> None:
    first, _ = filled(store), filled(store)
    store.merger().merge()
    of_first = Which(jobs=(first,))
    assert store.ask(DAILY, of_first) == store.ask(ADDED, of_first)
    with store.reader.opened(Which(since=NOW - timedelta(days=1))) as results:
        assert results.execute(DAILY).fetchall() == results.execute(ADDED).fetchall()
    with store.reader.opened(Which(until=datetime(2020, 1, 1, tzinfo=NOW.tzinfo))) as results:
        assert results.execute(DAILY).fetchall() == []


@pytest.mark.parametrize("score", [1e200, float("inf"), float("nan")])
def test_scores_that_no_sum_can_hold_are_merged_and_added_up_when_asked(store: Store, score: float) -> None:
    job = new_id()
    store.add(job, [rows(job, 0, 1500, score=score), rows(job, 2000, 1500)])
    assert store.merger().merge() == 2
    assert [one.sums for one in store.live()] == [None]
    assert str(store.ask(DAILY)) == str(store.ask(ADDED))


def test_what_is_deleted_leaves_no_sums(store: Store) -> None:
    job = filled(store)
    store.merger().merge()
    store.database.as_tenant(store.tenant, lambda c: end_job(c, store.tenant, job))
    remove_ended(store.database, store.objects, store.tenant, job)
    assert store.ask(DAILY) == []
    left = "SELECT count(*) FROM proctor.result_batch WHERE sums IS NOT NULL"
    assert store.database.as_tenant(store.tenant, lambda c: c.exec_driver_sql(left).scalar_one()) == 0


def test_what_is_not_kept_goes_from_them_to_the_rollups(store: Store) -> None:
    job = new_id()
    store.add(job, [aged(rows(job, 0, 1500), 40), aged(rows(job, 1500, 1500), 40)])
    store.merger().merge()
    told = store.ask(DAILY)
    assert let_go(store, job) == 1
    assert (store.ask(DAILY), store.ask("SELECT * FROM rollups ORDER BY ALL")) == ([], told)
