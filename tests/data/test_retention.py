"""Results that are not kept become daily sums when they are old enough, each row once, whoever dies meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.database.engine import Database
from proctor.identity.service import ensure_tenant
from proctor.jobs.service import unkept
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.results.retention import Retainer, Retention, RetentionInvalid, retention, set_retention
from proctor.results.schema import result_schema
from proctor.results.service import hold
from proctor.results.sums import ROLLUP_COLUMNS, rollup_schema, summed
from tests.data.desk import Desk
from tests.data.test_results import Store, rows

pytestmark = pytest.mark.database

NOW = datetime.now(UTC)


def aged(table: pa.Table, days: float, **others: object) -> pa.Table:
    """The same results, evaluated so many days ago."""
    changed = {"time": NOW - timedelta(days=days), **others}
    for name, value in changed.items():
        field = result_schema().field(name)
        table = table.set_column(table.schema.get_field_index(name), field, pa.array([value] * len(table), field.type))
    return table


@pytest.fixture
def store(database: Database, objects: ObjectStore, tenant: UUID, tmp_path: Path) -> Store:
    return Store(database, objects, tenant, tmp_path)


def let_go(store: Store, *jobs: UUID) -> int:
    return Retainer(store.database, store.objects, store.tenant, store.folder).let_go(jobs)


ROLLED = (
    "SELECT evaluator, model, status, sum(n)::BIGINT AS n, sum(score_sum) AS total FROM rollups GROUP BY ALL ORDER BY 1"
)


def test_old_results_become_sums_by_day_and_young_ones_stay(store: Store) -> None:
    job = new_id()
    store.add(job, [aged(rows(job, 0, 1500), 40), aged(rows(job, 1500, 10), 41), rows(job, 2000, 20)])
    raw = store.ask(
        "SELECT CAST(time AT TIME ZONE 'UTC' AS DATE) AS day, evaluator, model, status, count(*) AS n,"
        " count(score) AS scored, sum(score) AS score_sum, sum(score * score) AS score_squares,"
        " min(score) AS score_min, max(score) AS score_max FROM results WHERE row < 2000 GROUP BY ALL ORDER BY day"
    )
    assert let_go(store, job) == 2
    assert store.ask("SELECT * FROM rollups ORDER BY day") == raw
    assert store.ask("SELECT count(*) AS n FROM results") == [{"n": 20}]
    assert let_go(store, job) == 0
    assert store.ask("SELECT * FROM rollups ORDER BY day") == raw
    assert len(list(store.objects.list(f"{store.tenant}/results/"))) == 1  # a query that began before may read it
    assert store.merger().remove(after_sec=0) == 2
    assert list(store.objects.list(f"{store.tenant}/results/")) == []


def test_a_row_that_comes_late_is_counted_once(store: Store) -> None:
    job = new_id()
    store.add(job, [aged(rows(job, 0, 10, score=0.5), 40)])
    let_go(store, job)
    other = new_id()
    store.add(other, [aged(rows(job, 10, 3, score=1.0), 40)])
    assert store.ask(ROLLED)[0]["n"] == 10
    assert let_go(store, job, other) == 1
    let_go(store, job, other)
    (row,) = store.ask("SELECT n, scored, score_sum, score_squares, score_min, score_max FROM rollups")
    assert tuple(row.values()) == (13, 13, 8.0, 5.5, 0.5, 1.0)


def test_what_has_no_score_and_no_model_is_counted_by_its_status(store: Store) -> None:
    job = new_id()
    nothing = aged(rows(job, 0, 4), 40, score=None, status="refused", error="no", model=None)
    store.add(job, [pa.concat_tables([nothing, aged(rows(job, 4, 2, score=0.25), 40)])])
    let_go(store, job)
    found = store.ask("SELECT status, model, n, scored, score_sum, score_min FROM rollups ORDER BY status")
    assert [tuple(row.values()) for row in found] == [
        ("refused", None, 4, 0, 0.0, None),
        ("scored", "m", 2, 2, 0.5, 0.25),
    ]


def test_jobs_that_are_kept_and_batches_that_are_held_stay(store: Store) -> None:
    kept, held, gone = new_id(), new_id(), new_id()
    for job in (kept, held, gone):
        store.add(job, [aged(rows(job, 0, 5), 40)])
    store.database.as_tenant(store.tenant, lambda c: hold(c, store.tenant, held, held=True))
    assert let_go(store, held, gone) == 1
    left = store.ask("SELECT DISTINCT job FROM results")
    assert {row["job"] for row in left} == {str(kept), str(held)}


def test_another_tenants_results_are_no_concern(store: Store, tmp_path: Path) -> None:
    job = new_id()
    store.add(job, [aged(rows(job, 0, 5), 40)])
    other = Store(store.database, store.objects, ensure_tenant(store.database, f"t-{new_id().hex}"), tmp_path)
    assert let_go(other, job) == 0
    assert other.ask("SELECT * FROM rollups") == []


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("where", ["proctor.results.retention.summed", "proctor.results.retention.add"])
def test_whoever_is_killed_leaves_each_row_counted_once(
    store: Store, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = new_id()
    store.add(job, [aged(rows(job, n * 5, 5), 40) for n in range(3)])
    whole = "SELECT (SELECT count(*) FROM results) + coalesce((SELECT sum(n) FROM rollups), 0)::BIGINT AS n"
    calls = iter([False, True, False, True])
    module, _, name = where.rpartition(".")
    real = getattr(__import__(module, fromlist=[name]), name)

    def dying(*given: object) -> object:
        done = real(*given)
        if next(calls, False):
            raise Killed
        return done

    monkeypatch.setattr(where, dying)
    for _ in range(2):
        with pytest.raises(Killed):
            let_go(store, job)
        assert store.ask(whole) == [{"n": 15}]
    let_go(store, job)
    assert store.ask("SELECT count(*) AS n FROM results") == [{"n": 0}]
    assert store.ask(whole) == [{"n": 15}]


def test_two_at_once_count_once(store: Store) -> None:
    job = new_id()
    store.add(job, [aged(rows(job, 0, 5), 40)])
    first, second = (Retainer(store.database, store.objects, store.tenant, store.folder) for _ in range(2))
    (batch,) = second._aged([job], 30)
    assert first.let_go([job]) == 1
    assert second._roll_up(batch) is False
    assert store.ask("SELECT sum(n)::BIGINT AS n FROM rollups") == [{"n": 5}]


def test_a_tenant_says_for_how_long(store: Store) -> None:
    def asked() -> Retention:
        return store.database.as_tenant(store.tenant, lambda c: retention(c, store.tenant))

    assert asked() == Retention(result_days=30, rollup_days=365)
    job = new_id()
    store.add(job, [aged(rows(job, 0, 5), 40)])
    for days in ((50, 60), (5, 60), (5, 10)):
        wanted = Retention(result_days=days[0], rollup_days=days[1])
        store.database.as_tenant(store.tenant, lambda c, wanted=wanted: set_retention(c, store.tenant, wanted))
        assert asked() == wanted
        let_go(store, job)
        left = store.ask("SELECT (SELECT count(*) FROM results) AS r, (SELECT count(*) FROM rollups) AS d")
        assert left == [{"r": 5 if days[0] == 50 else 0, "d": int(days == (5, 60))}]


@pytest.mark.parametrize(
    ("days", "field"), [((0, 1), "result_days"), ((9, 8), "rollup_days"), ((1, 36_501), "rollup_days")]
)
def test_days_that_can_t_be_are_refused(days: tuple[int, int], field: str) -> None:
    with pytest.raises(RetentionInvalid) as refused:
        Retention(result_days=days[0], rollup_days=days[1])
    assert refused.value.where == field


@pytest.mark.usefixtures("clean_queue")
def test_only_jobs_that_are_not_kept_pass(desk: Desk) -> None:
    desk.numbers(3)
    desk.submit()
    passing, held = desk.submit(name="passing", keep=False), desk.submit(name="held", keep=False)
    desk.evaluations.hold("held", "case 7")
    assert (desk.evaluations.job("outputs").kept, passing.kept, held.kept) == (True, False, False)
    tenant = desk.platform.tenant
    assert desk.platform.database.as_tenant(tenant, lambda c: unkept(c, tenant)) == [passing.id]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", None]), st.floats(0, 1)), min_size=1, max_size=40))
@settings(max_examples=30, deadline=None)
def test_sums_of_parts_add_up_to_the_sums_of_the_whole(found: list[tuple[int, str | None, float]]) -> None:
    table = pa.concat_tables(
        [
            aged(rows(UUID(int=1), n, 1, score=score), 40 + day, model=model)
            for n, (day, model, score) in enumerate(found)
        ]
    )
    with duckdb.connect() as connection:
        connection.register("results", table)
        whole = {row["id"]: row for row in summed(connection)}
        parts: dict[str, list[dict[str, float]]] = {}
        for piece in (table.slice(0, len(found) // 2), table.slice(len(found) // 2)):
            connection.unregister("results")
            connection.register("results", piece)
            for row in summed(connection):
                parts.setdefault(row["id"], []).append(row)
    assert parts.keys() == whole.keys()
    for identity, rolled in whole.items():
        assert rolled["n"] == sum(part["n"] for part in parts[identity])
        assert rolled["score_sum"] == pytest.approx(sum(part["score_sum"] for part in parts[identity]))
        assert rolled["score_max"] == max(part["score_max"] for part in parts[identity])


def test_rollups_have_their_documented_columns(store: Store) -> None:
    page = Path("docs/reference/results-schema.md").read_text()
    assert list(ROLLUP_COLUMNS) == rollup_schema().names
    for name, meaning in ROLLUP_COLUMNS.items():
        assert any(line.startswith(f"| `{name}` |") and meaning in line for line in page.splitlines()), name
