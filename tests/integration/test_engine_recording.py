"""What is written down and read back: known answers through the tables, breakers, and the size of a matrix."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.engine import planning, reading
from proctor.engine.assignments import Assignment, Finished
from proctor.engine.claiming import Claimer
from proctor.engine.evidence import Evidence, GradingFacts, Phase
from proctor.engine.gates import GateState, judge_gate
from proctor.engine.identity import ConfigurationParts, configuration_document
from proctor.engine.planning import Plan, PlannedProfile
from proctor.engine.recording import decide, record_batch
from proctor.engine.spec import Gate
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.queue.service import Band
from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILE = 'name = "n"\nsuite = "suite"\n[[profiles]]\nname = "p"\nagent = "noop"\nmodel = "acme/one"\n'


def claimed(bench: Bench, run_set: UUID, limit: int = 1000) -> list[Assignment]:
    """Attempts of a run set, started, as a worker would have them."""
    claimer = Claimer(bench.database, new_id(), backend="fake", slots=limit, scope=run_set, lease_sec=60)
    return claimer.claim(limit, list)


def finished(assignment: Assignment, passed: bool | None = None, **seen: Json) -> Finished:
    """An attempt that ended with a verdict, or with this evidence."""
    evidence = Evidence(phase=Phase.AGENT, seq=1, started_at=NOW, ended_at=NOW, detail=dict(seen))
    grading = GradingFacts(
        number=1,
        verifier_digest="v",
        mode="snapshot",
        backend="fake",
        forgeable=False,
        rewards={"reward": float(bool(passed))},
        passed=passed,
        primary=float(bool(passed)),
        graded_at=NOW,
    )
    return Finished(
        assignment=assignment,
        evidence=[evidence],
        gradings=[] if passed is None else [grading],
        retry_after=40.0 if seen.get("http_status") == 429 else None,
    )


def record(bench: Bench, ends: Sequence[Finished]) -> None:
    """Record attempts in one batch."""
    decided = [decide(end, random.Random(1)) for end in ends]
    written = bench.engine.read(lambda connection: record_batch(connection, bench.tenant, decided))
    assert len(written) == len(ends)


def test_rate_limits_and_lost_images_are_gaps_and_not_failures(bench: Bench) -> None:
    """10 cells: 5 pass, 2 rate-limited, 1 auth, 2 image pull 429, as tables hold them."""
    write_tasks(bench.folder / "suite", 10)
    run_set = bench.open(FILE).run_set
    cells = claimed(bench, run_set.id)
    ends = [
        *[finished(cell, passed=True) for cell in cells[:5]],
        *[finished(cell, source="provider", http_status=429) for cell in cells[5:7]],
        finished(cells[7], source="provider", http_status=401),
        *[finished(cell, source="registry", http_status=429) for cell in cells[8:]],
    ]
    record(bench, ends)
    row = bench.leaderboard(run_set)["p"]
    assert (row.rates.strict, row.rates.graded, row.rates.coverage) == (0.5, 1.0, 0.5)
    assert row.rates.bounds is not None
    assert (row.rates.bounds.low, row.rates.bounds.high) == (0.5, 1.0)
    owed = {one.outcome: (one.owner, one.cells) for one in row.classes if not one.decided}
    assert owed["provider_rate_limit"] == ("provider", 2)
    assert owed["provider_auth"] == ("provider", 1)


def test_a_verifiers_no_after_an_image_that_never_came_is_no_failure(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    run_set = bench.open(FILE).run_set
    (cell,) = claimed(bench, run_set.id)
    record(bench, [finished(cell, passed=False, source="provider", http_status=503)])
    assert bench.cells(run_set)[0].verdict is None
    assert bench.sql("SELECT count(*) FROM proctor.result") == [(0,)]


def test_a_rate_limit_closes_the_lane_and_uses_no_try(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    run_set = bench.open(FILE).run_set
    first, second = claimed(bench, run_set.id)
    record(bench, [finished(first, source="provider", http_status=429)])
    record(bench, [finished(second, source="provider", http_status=429)])
    (wait,) = bench.engine.read(lambda c: reading.status(c, bench.tenant, run_set)).progress.waits
    assert (wait.scope, wait.name, wait.state) == ("provider", "acme", "closed")
    assert wait.counts == {"provider_rate_limit": 2}
    assert bench.sql("SELECT state, tries FROM proctor.queue_item") == [("pending", 0)] * 2
    seconds = bench.sql("SELECT extract(epoch FROM closed_until - now())::int FROM proctor.queue_lane")
    assert 30 <= int(str(seconds[0][0])) <= 40
    assert claimed(bench, run_set.id) == []


def test_the_probe_of_a_closed_lane_is_one_cell_and_its_verdict_opens_it(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 3)
    run_set = bench.open(FILE).run_set
    record(bench, [finished(cell, source="provider", http_status=529) for cell in claimed(bench, run_set.id)])
    reopened = text("UPDATE proctor.queue_lane SET closed_until = now() - interval '1 second'")
    bench.database.as_scheduler(lambda connection: connection.execute(reopened))
    (probe,) = claimed(bench, run_set.id)
    assert claimed(bench, run_set.id) == []
    record(bench, [finished(probe, passed=True)])
    assert len(claimed(bench, run_set.id)) == 2


def test_the_first_verdict_is_final_and_no_attempt_starts_after_it(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    run_set = bench.open(FILE).run_set
    (cell,) = claimed(bench, run_set.id)
    record(bench, [finished(cell, passed=False)])
    items = [queue.Item(id=cell.cell, provider="acme")]
    bench.engine.read(lambda c: queue.enqueue(c, bench.tenant, "cell", items, holder=run_set.id))
    assert claimed(bench, run_set.id) == []
    assert bench.sql("SELECT verdict FROM proctor.result") == [(False,)]
    assert bench.sql("SELECT count(*) FROM proctor.queue_item") == [(0,)]


def test_54_profiles_on_88_tasks_expect_4752_cells(bench: Bench) -> None:
    suite = write_tasks(bench.folder / "suite", 88)
    resolved = bench.resolved(FILE)
    assert suite.is_dir()
    plan = Plan(
        tenant=bench.tenant,
        name="matrix",
        spec_digest="d",
        suite_id=resolved.plan.suite_id,
        spec=resolved.plan.spec,
        policy_version=resolved.plan.policy_version,
        reuse_sec=None,
        trials=1,
        band=Band.NORMAL,
        profiles=[profile(number) for number in range(54)],
        tasks=resolved.plan.tasks,
    )
    bench.engine.read(lambda connection: planning.create(connection, plan))
    found = bench.engine.read(lambda connection: planning.find(connection, plan))
    assert found is not None
    assert bench.progress(found).expected == 4752
    bench.engine.read(lambda connection: planning.enqueue_undecided(connection, plan, found.id))
    assert bench.progress(found).queued == 4752


def profile(number: int) -> PlannedProfile:
    parts = ConfigurationParts(
        agent="noop",
        agent_version=str(number),
        layer_digest=None,
        model=None,
        thinking=None,
        variant=None,
        policies={"out_of_memory": "model"},
        backend="fake",
        environment={},
    )
    found, document = configuration_document(parts)
    return PlannedProfile(name=f"p{number}", series="s", configuration=found, document=document, provider="")


def test_withdrawn_cells_leave_the_rates_and_stay_in_sight(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 4)
    run_set = bench.open(FILE).run_set
    record(bench, [finished(cell, passed=True) for cell in claimed(bench, run_set.id)])
    withdrawn = bench.cells(run_set)[0].cell
    bench.engine.read(
        lambda c: c.execute(
            text("UPDATE proctor.expected_cell SET withdrawn_at = now(), reason = 'broken' WHERE cell_id = :c"),
            {"c": withdrawn},
        )
    )
    row = bench.leaderboard(run_set)["p"]
    assert (row.rates.counts.expected, row.rates.counts.withdrawn, row.comparable) == (3, 1, False)
    assert [cell.withdrawn for cell in bench.cells(run_set) if cell.cell == withdrawn] == ["broken"]


@pytest.mark.parametrize(
    ("passed", "undecided", "strict", "state"),
    [
        (3, 0, 0.75, GateState.MET),
        (3, 0, 0.76, GateState.MISSED),
        (3, 1, 0.75, GateState.MET),
        (2, 1, 0.75, GateState.OPEN),
        (1, 1, 0.75, GateState.MISSED),
    ],
)
def test_a_gate_with_gaps_is_decided_on_the_bounds(
    bench: Bench, passed: int, undecided: int, strict: float, state: GateState
) -> None:
    write_tasks(bench.folder / "suite", 4)
    run_set = bench.open(FILE).run_set
    cells = claimed(bench, run_set.id)[undecided:]
    record(bench, [finished(cell, passed=number < passed) for number, cell in enumerate(cells)])
    result = judge_gate(Gate(strict=strict), list(bench.leaderboard(run_set).values()))
    assert result.state is state
    assert bool(result.lines) == (state is not GateState.MET)
