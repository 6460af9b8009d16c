"""What a comparison reads from the tables: cells by class, withdrawn ones, costs, and the labels of run sets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from proctor.analysis.intervals import Interval
from proctor.engine.comparing import compare_groups, put_together
from proctor.engine.errors import LabelUnknown, ReferenceInvalid, RunSetUnknown
from proctor.engine.kept_sides import with_tasks_kept
from proctor.engine.pair_segments import segments_of_pair
from proctor.engine.pairing import TasksAsked, paired_tasks, tasks_of_pair
from proctor.engine.pairs import Pair, SegmentField, Side, TaskCost, TaskOfPair
from proctor.engine.sides import find_reference, read_sides
from proctor.identity.service import ensure_tenant
from proctor.suites import labels
from tests.bench import TASK, Bench, write_tasks
from tests.integration.test_engine_recording import FILE, claimed, finished, record

pytestmark = pytest.mark.database

OTHER = FILE.replace('name = "n"', 'name = "m"').replace("acme/one", "acme/two")


def compared(bench: Bench, *references: str) -> Pair:
    """The pair of two references: put together by the database as from sides that were read, to the last bit."""
    a, b = kept(bench, *references)
    (read,) = compare_groups([[a], [b]], alpha=0.05).pairs
    together = partial(paired_tasks, bench.engine.read, bench.tenant)
    (put,) = compare_groups([[a], [b]], alpha=0.05, together=together).pairs
    assert put == read
    (few,) = compare_groups([[a], [b]], alpha=0.05, together=partial(together, listed=1)).pairs
    assert (few.only_a, few.only_b, few.unpaired_cells) == (read.only_a[:1], read.only_b[:1], read.unpaired_cells)
    assert len(few.unpaired) <= 2
    assert few.unpaired[:1] == read.unpaired[:1]
    assert set(few.unpaired) <= set(read.unpaired)
    ordered = list(paired_tasks(bench.engine.read, bench.tenant, a, b).groups.items())
    assert dict(ordered) == dict(put_together(a, b).groups)
    tasks = bench.engine.read(lambda c: tasks_of_pair(c, bench.tenant, (a, b), TasksAsked(limit=1000)))
    assert len(tasks) == sum(n for _, n in ordered)
    paged: list[TaskOfPair] = []
    while not paged or len(paged) < len(tasks):
        after = paged[-1].place if paged else None
        which = TasksAsked(after=after, limit=1)
        page = bench.engine.read(partial(tasks_of_pair, tenant=bench.tenant, sides=(a, b), which=which))
        paged.extend(page)
    assert paged == tasks
    return read


def kept(bench: Bench, *references: str) -> tuple[Side, Side]:
    a, b = with_tasks_kept(bench.engine.read, bench.tenant, [side(bench, one) for one in references])
    assert (a.cells, b.cells) == tuple(side(bench, one).cells for one in references)
    return a, b


def side(bench: Bench, reference: str) -> Side:
    found = bench.engine.read(lambda c: find_reference(c, bench.tenant, reference))
    tasks = {one.content_digest: one for one in bench.suites.tasks(bench.tenant, found.run_set.suite_id)}
    (only,) = bench.engine.read(lambda c: read_sides(c, bench.tenant, found, tasks))
    return only


def set_label(bench: Bench, name: str, run_set: UUID) -> None:
    bench.engine.read(lambda c: labels.point(c, bench.tenant, labels.RUN_SET, name, str(run_set), source="test"))


def withdraw(bench: Bench, cell: UUID) -> None:
    statement = "UPDATE proctor.expected_cell SET withdrawn_at = now(), reason = 'wrong data' WHERE cell_id = :c"
    bench.engine.read(lambda c: c.execute(text(statement), {"c": cell}))


def test_every_cell_of_a_side_is_read_with_its_class_and_owner(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 5)
    mine, theirs = bench.open(FILE).run_set, bench.open(OTHER).run_set
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, theirs.id)])
    cells = claimed(bench, mine.id)[:4]
    record(bench, [finished(cells[0], passed=True), finished(cells[1], passed=False), finished(cells[3], passed=False)])
    record(bench, [finished(cells[2], ended_by="provider", http_status=429)])
    withdraw(bench, cells[3].cell)

    pair = compared(bench, "n", "m")
    assert (pair.tasks, pair.difference) == (2, -0.5)
    assert len(pair.only_b) == 1
    gaps = sorted(one.reason for one in pair.unpaired)
    assert len(gaps) == 3
    assert gaps[0].startswith("no verdict: ")
    assert "no verdict: not_started (nobody)" in gaps
    assert gaps[-1] == "withdrawn: wrong data"
    assert [field.field for field in pair.fields] == ["model"]
    assert pair.worst is not None
    assert pair.best is not None
    assert (pair.worst.difference, pair.best.difference) == (-0.75, -0.25)  # of four tasks: the withdrawn one is out


def test_a_cost_is_known_only_where_every_attempt_told_it(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    run_set, other = bench.open(FILE).run_set, bench.open(OTHER).run_set
    for one in (run_set, other):
        record(bench, [finished(cell, passed=True) for cell in claimed(bench, one.id)])

    def price(run: UUID, limit: int) -> None:
        statement = (
            "UPDATE proctor.attempt SET usage = '{\"cost_nano\": 7}' WHERE id IN"
            " (SELECT id FROM proctor.attempt WHERE run_set_id = :r ORDER BY id LIMIT :limit)"
        )
        bench.engine.read(lambda c: c.execute(text(statement), {"r": run, "limit": limit}))

    price(run_set.id, 2)
    price(other.id, 1)
    pair = compared(bench, "n", "m")
    assert (pair.cost.a_nano, pair.cost.b_nano, pair.cost.difference_nano) == (14, None, None)
    assert pair.a.cost == TaskCost(tasks=2, unknown=0, mean_nano=7.0, interval=Interval(7.0, 7.0))
    assert pair.b.cost == TaskCost(tasks=1, unknown=1, mean_nano=7.0, interval=None)
    price(other.id, 2)
    pair = compared(bench, "n", "m")
    assert (pair.cost.b_nano, pair.cost.difference_nano) == (14, 0)


def test_tasks_are_put_together_by_what_their_authors_say(bench: Bench) -> None:
    said = (
        'difficulty = "easy"\ncategory = "shell"',
        'difficulty = "easy"\ncategory = 7',
        'difficulty = "hard"\ncategory = "shell"',
        f'difficulty = "{"x" * 101}"',
        "",
    )
    write_tasks(bench.folder / "suite", len(said))
    for number, metadata in enumerate(said):
        (bench.folder / "suite" / f"task-{number:02d}" / "task.toml").write_text(f"{TASK}\n[metadata]\n{metadata}\n")
    mine, theirs = bench.open(FILE).run_set, bench.open(OTHER).run_set
    for run_set, passes in ((mine, 0), (theirs, 3)):
        names = {one.content_digest: one.name for one in bench.suites.tasks(bench.tenant, run_set.suite_id)}
        cells = sorted(claimed(bench, run_set.id), key=lambda one: names[one.content_digest])
        record(bench, [finished(cell, passed=place < passes) for place, cell in enumerate(cells[:4])])
    a, b = kept(bench, "n", "m")

    found = bench.engine.read(lambda c: segments_of_pair(c, bench.tenant, (a, b), alpha=0.05))
    told = {(one.field, one.label): (one.tasks, one.difference, one.kinds.better) for one in found.segments}
    assert told == {
        ("difficulty", "easy"): (2, -1.0, 2),
        ("difficulty", "hard"): (1, -1.0, 1),
        ("category", "shell"): (2, -1.0, 2),
    }
    assert found.unlabelled == {"difficulty": 2, "category": 3}
    assert found.left_out == {"difficulty": 0, "category": 0}

    def tasks(field: SegmentField, label: str) -> list[str]:
        which = TasksAsked(segment=(field, label))
        return [one.task for one in bench.engine.read(lambda c: tasks_of_pair(c, bench.tenant, (a, b), which))]

    assert tasks("category", "shell") == ["task-00", "task-02"]
    assert tasks("difficulty", "easy") == ["task-00", "task-01"]
    assert tasks("category", "7") == []


# --- sides that are kept ----------------------------------------------------------------------------------------------


def kept_id(bench: Bench, reference: str) -> UUID:
    (found,) = with_tasks_kept(bench.engine.read, bench.tenant, [side(bench, reference)])
    assert found.kept is not None
    return found.kept.id


def test_a_side_is_counted_once_until_something_under_it_is_written(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 4)
    mine, theirs = bench.open(FILE).run_set, bench.open(OTHER).run_set
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, theirs.id)])
    other = kept_id(bench, "m")
    cells = claimed(bench, mine.id)

    def again(write: Callable[[], object]) -> None:
        before = kept_id(bench, "n")
        assert kept_id(bench, "n") == before
        write()
        assert kept_id(bench, "n") != before
        compared(bench, "n", "m")

    again(lambda: record(bench, [finished(cells[0], passed=True)]))
    again(lambda: record(bench, [finished(cells[1], ended_by="provider", http_status=429)]))
    again(lambda: withdraw(bench, cells[2].cell))
    again(lambda: told_later(bench, mine.id))
    assert kept_id(bench, "m") == other


def told_later(bench: Bench, run_set: UUID) -> None:
    statement = "UPDATE proctor.attempt SET usage = jsonb_build_object('cost_nano', 7) WHERE run_set_id = :r"
    bench.engine.read(lambda c: c.execute(text(statement), {"r": run_set}))


def test_a_cell_that_two_run_sets_expect_changes_both(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    mine = bench.open(FILE).run_set
    bench.open(FILE.replace('name = "n"', 'name = "m"'))
    before = kept_id(bench, "m")
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, mine.id)])
    assert kept_id(bench, "m") != before


def test_nothing_is_kept_under_a_transaction_that_began_before(bench: Bench) -> None:
    """It asked which sides are kept when this one was not: what it wrote is seen all the same once it is over."""
    write_tasks(bench.folder / "suite", 2)
    mine = bench.open(FILE).run_set
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, mine.id)])
    with bench.database.tenant(bench.tenant) as connection:
        statement = "UPDATE proctor.expected_cell SET withdrawn_at = now() WHERE run_set_id = :r"
        connection.execute(text(statement), {"r": mine.id})
        first = kept_id(bench, "n")
        assert kept_id(bench, "n") != first
    last = kept_id(bench, "n")
    assert last != first
    assert kept_id(bench, "n") == last
    (found,) = with_tasks_kept(bench.engine.read, bench.tenant, [side(bench, "n")])
    assert found.cells == "0:0"


def test_many_who_ask_at_once_have_one_side(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    mine = bench.open(FILE).run_set
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, mine.id)])
    with ThreadPoolExecutor(max_workers=4) as beside:
        found = list(beside.map(lambda _: kept_id(bench, "n"), range(8)))
    assert len(set(found)) == 1
    assert bench.engine.read(lambda c: c.execute(text("SELECT count(*) FROM proctor.kept_side")).scalar_one()) == 1


def test_the_sides_of_a_large_run_set_are_kept_when_it_ends(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who compares it first waits for nobody to count."""
    write_tasks(bench.folder / "suite", 2)
    mine = bench.open(FILE).run_set
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, mine.id)])
    kept = text("SELECT id FROM proctor.kept_side WHERE kept")
    bench.engine.finish(mine.id)
    assert bench.engine.read(lambda c: c.execute(kept).scalars().all()) == [], "two cells are soon counted"
    monkeypatch.setattr("proctor.engine.service._KEPT_AT_END", range(1, 10))
    bench.engine.finish(mine.id)
    found = bench.engine.read(lambda c: c.execute(kept).scalars().all())
    assert found == [kept_id(bench, "n")]


def test_sides_that_nobody_can_find_are_swept(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    mine, theirs = bench.open(FILE).run_set, bench.open(OTHER).run_set
    old = kept_id(bench, "n")
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, mine.id)])
    new = kept_id(bench, "n")

    def stand(statement: str) -> set[UUID]:
        return set(bench.engine.read(lambda c: c.execute(text(statement)).scalars().all()))

    assert stand("SELECT DISTINCT side_id FROM proctor.side_task") == {old, new}
    bench.engine.read(lambda c: c.execute(text("UPDATE proctor.kept_side SET used_at = now() - interval '11 minutes'")))
    other = kept_id(bench, "m")
    assert stand("SELECT id FROM proctor.kept_side") == {new, other}
    assert stand("SELECT DISTINCT side_id FROM proctor.side_task") == {new, other}
    assert stand("SELECT side_id FROM proctor.side_change") == set()
    bench.engine.read(lambda c: c.execute(text("UPDATE proctor.kept_side SET used_at = now() - interval '32 days'")))
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, theirs.id)])
    last = kept_id(bench, "m")
    assert stand("SELECT id FROM proctor.kept_side") == {last}


def test_a_label_moves_by_a_new_row_and_is_its_tenants_own(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    first, second = bench.open(FILE).run_set, bench.open(OTHER).run_set
    set_label(bench, "main", first.id)
    set_label(bench, "main", first.id)
    assert side(bench, "label:main").run_set == first.id
    set_label(bench, "main", second.id)
    assert side(bench, "label:main:p").run_set == second.id
    history = bench.engine.read(lambda c: labels.history(c, bench.tenant, labels.RUN_SET))
    assert [one.target for one in history] == [str(first.id), str(second.id)]
    assert (history[0].valid_to, history[1].valid_to) == (history[1].valid_from, None)
    assert bench.engine.read(lambda c: labels.current(c, bench.tenant, labels.SUITE)) == {}
    stranger = ensure_tenant(bench.database, f"stranger-{uuid4()}")
    assert bench.database.as_tenant(stranger, lambda c: labels.current(c, bench.tenant, labels.RUN_SET)) == {}


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        ("label:mian", LabelUnknown),
        ("nobody", RunSetUnknown),
        ("n:nobody", ReferenceInvalid),
        ("n:", ReferenceInvalid),
        (":p", ReferenceInvalid),
        ("", ReferenceInvalid),
        ("label:", ReferenceInvalid),
        ("n:p:q", ReferenceInvalid),
    ],
)
def test_a_reference_that_leads_nowhere_says_why(bench: Bench, reference: str, error: type[Exception]) -> None:
    write_tasks(bench.folder / "suite", 1)
    run_set = bench.open(FILE).run_set
    set_label(bench, "main", run_set.id)
    with pytest.raises(error) as raised:
        side(bench, reference)
    if error is LabelUnknown:
        assert "Did you mean 'main'?" in str(raised.value)
