"""What an export reads of each cell, page by page, over the fake sandbox."""

from __future__ import annotations

from functools import partial

import pytest

from proctor.engine.exporting import AttemptFacts, Cursor, export_page
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow
from proctor.engine.service import Selection
from proctor.sandboxes.fake import FakeBackend, FakeSandbox, exits, rewards
from proctor.sandboxes.interfaces import ExecRequest, ExecResult
from tests.bench import Bench, write_tasks
from tests.integration.test_engine_runs import Failing, file

pytestmark = pytest.mark.database


def pages(bench: Bench, row: RunSetRow, limit: int) -> list[tuple[CellRow, AttemptFacts | None]]:
    """All cells, so many at a time."""
    found: list[tuple[CellRow, AttemptFacts | None]] = []
    after: Cursor | None = None
    while True:
        page = bench.engine.read(partial(export_page, tenant=bench.tenant, row=row, after=after, limit=limit))
        assert len(page.cells) <= limit
        found += page.cells
        if page.cursor is None:
            return found
        after = page.cursor


def test_pages_of_any_size_tell_the_same_and_every_cell_once(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 3, malformed=1)
    row = bench.run(file(trials=2))
    whole = pages(bench, row, 100)
    assert pages(bench, row, 2) == whole
    assert [cell for cell, _ in whole] == list(bench.cells(row))
    assert sorted(facts.outcome.outcome for _, facts in whole if facts) == ["passed"] * 4 + ["task_invalid"] * 2


def test_a_cell_stands_on_its_deciding_attempt_and_names_those_before(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.backend = Failing(1)
    ((cell, facts),) = pages(bench, bench.run(file()), 10)
    assert facts is not None
    assert (facts.id, facts.number, facts.outcome.rule) == (cell.attempt, 2, "pass")
    assert [(one.number, one.outcome, one.owner) for one in facts.tries] == [
        (1, "sandbox_error", "infrastructure"),
        (2, "passed", "model"),
    ]
    assert facts.grading is not None
    assert (facts.grading.number, facts.grading.rewards) == (1, {"reward": 1.0})
    assert [item.phase for item in facts.evidence][-1] == "record"
    assert facts.evidence[0].started_at.tzinfo is not None
    assert "trajectory.json" in facts.artifacts


def test_the_grading_is_the_one_that_the_verdict_rests_on(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    asked = []

    def breaks_first(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if not any("test.sh" in word for word in request.argv):
            return ExecResult(exit_code=0, signal=None)
        asked.append(request)
        return (exits(0) if len(asked) == 1 else rewards(0.0))(sandbox, request)

    bench.backend = FakeBackend(breaks_first)
    ((_, facts),) = pages(bench, bench.run(file()), 10)
    assert facts is not None
    assert facts.grading is not None
    assert (facts.outcome.outcome, facts.grading.number, facts.grading.rewards) == ("failed", 2, {"reward": 0.0})


def test_a_cell_that_was_never_begun_has_no_attempt(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    row = bench.work(bench.open(file(), selection=Selection(limit=1)).run_set.id)
    found = pages(bench, row, 10)
    assert sorted(facts is None for _, facts in found) == [False, True]
