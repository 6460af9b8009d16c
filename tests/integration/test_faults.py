"""Faults on purpose, over the fake sandbox: each leaves the class, owner and retry of the real thing, and no verdict
of a configuration with faults is ever one without."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from proctor.engine.errors import SpecInvalid
from proctor.engine.faults.plan import FaultKind, planned_faults
from proctor.engine.outcomes import CURRENT_POLICY, Retry, load_policy
from proctor.engine.planning import RunSetRow
from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.fake import FakeBackend, FakeFile, FakeSandbox, rewards
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Sandbox, SandboxSpec
from tests.bench import Bench, write_tasks

pytestmark = [pytest.mark.endurance, pytest.mark.database]

FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "oracle"
model = "made-up/model"
"""


def fault(kind: str, more: str = "") -> str:
    return f'[[faults]]\nkind = "{kind}"\n{more}\n'


def ended(bench: Bench) -> list[tuple[object, ...]]:
    """Each attempt's class, owner and verdict, in order; of the gradings the last."""
    return bench.sql("""
        SELECT class, owner, verdict FROM (
            SELECT DISTINCT ON (a.number) a.number, o.class, o.owner, o.verdict
            FROM proctor.attempt a JOIN proctor.outcome o ON o.attempt_id = a.id ORDER BY a.number, o.grading DESC
        ) AS last ORDER BY number""")


def evidence(bench: Bench) -> dict[str, dict[str, object]]:
    """The first attempt's evidence by phase."""
    rows = bench.sql(
        "SELECT e.phase, e.detail FROM proctor.evidence e JOIN proctor.attempt a ON a.id = e.attempt_id "
        "WHERE a.number = 1 ORDER BY seq"
    )
    return {str(phase): detail for phase, detail in rows}  # type: ignore[misc]


def run(bench: Bench, source: str) -> RunSetRow:
    """Open and work, with no wait between tries."""
    opened = bench.open(source)
    left = bench.engine.work_left(opened.run_set.id)
    come = text("UPDATE proctor.queue_item SET run_at = now() WHERE state = 'waiting'")

    def left_after_time_passed() -> bool:
        bench.database.as_scheduler(lambda connection: connection.execute(come))
        return left()

    return bench.work(opened.run_set.id, until=left_after_time_passed)


@pytest.fixture(autouse=True)
def one_task(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)


RETRIED: list[tuple[FaultKind, str, str, Retry, str, dict[str, object]]] = [
    (
        FaultKind.PULL_DROP,
        "image_error",
        "infrastructure",
        Retry.BACKOFF,
        "image",
        {"source": "engine", "engine_exit": 18, "exception": "ImagePullFailed"},
    ),
    (
        FaultKind.EVICTION,
        "node_lost",
        "infrastructure",
        Retry.AT_ONCE,
        "agent",
        {"kube_reason": "Evicted", "exception": "NodeLost"},
    ),
    (
        FaultKind.RATE_LIMIT,
        "provider_rate_limit",
        "provider",
        Retry.LANE,
        "agent",
        {"source": "provider", "http_status": 429, "retry_after": 1.0},
    ),
    (
        FaultKind.FULL_DISK,
        "sandbox_error",
        "infrastructure",
        Retry.BACKOFF,
        "start",
        {"source": "sandbox", "exception": "SandboxStartError"},
    ),
]


@pytest.mark.parametrize(("kind", "outcome", "owner", "retry", "phase", "fields"), RETRIED, ids=[c[0] for c in RETRIED])
def test_what_is_nobodys_answer_is_tried_again(
    bench: Bench, kind: FaultKind, outcome: str, owner: str, retry: Retry, phase: str, fields: dict[str, object]
) -> None:
    row = run(bench, FILE + fault(kind))
    assert row.state == "complete"
    assert ended(bench) == [(outcome, owner, None), ("passed", "model", True)]
    seen = evidence(bench)[phase]
    assert fields.items() <= seen.items()
    assert str(seen["fault"]).endswith(f", entry 1: {kind}")
    assert [name for name, detail in evidence(bench).items() if "fault" in detail] == [phase]
    assert load_policy(CURRENT_POLICY).classes[outcome].retry is retry  # type: ignore[index]
    marked = "SELECT count(*) FROM proctor.evidence e JOIN proctor.attempt a ON a.id = e.attempt_id WHERE a.number = 2"
    assert bench.sql(f"{marked} AND e.detail ? 'fault'") == [(0,)]


def test_a_key_that_is_not_accepted_waits_for_a_person(bench: Bench) -> None:
    row = run(bench, FILE + fault("auth_error"))
    assert (row.state, ended(bench)) == ("complete_with_gaps", [("provider_auth", "provider", None)])
    assert {"source": "provider", "http_status": 401}.items() <= evidence(bench)["agent"].items()
    assert bench.progress(row).dead == 1
    assert bench.engine.resume(row.id) == 1
    assert bench.work(row.id).state == "complete"


def test_a_verifier_that_crashes_is_run_once_more_and_then_the_tasks(bench: Bench) -> None:
    row = run(bench, FILE.replace("oracle", "noop") + fault("verifier_crash"))
    assert (row.state, ended(bench)) == ("complete_with_gaps", [("verifier_error", "task", None)])
    crash = [("verifier_crash", 11)] * 2
    assert (
        bench.sql("SELECT detail->>'problem', (detail->>'signal')::int FROM proctor.grading ORDER BY number") == crash
    )
    seen = bench.sql("SELECT detail->>'fault', detail->>'reference' FROM proctor.evidence WHERE phase = 'verify'")
    assert [bool(mark) for mark, _ in seen] == [True, True]
    assert seen[-1][1] == "failed"


def test_the_word_of_a_crashing_verifier_on_the_solution_is_kept_from_other_attempts(bench: Bench) -> None:
    """A clean profile's verifier that breaks is asked of its own."""

    def handler(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if request.session == "agent":
            sandbox.files["/solved"] = FakeFile(b"", 0o100644)
        if request.session == "verifier" and "/solved" not in sandbox.files:
            return ExecResult(exit_code=None, signal=6)
        return rewards(1.0)(sandbox, request)

    bench.backend = FakeBackend(handler)
    (bench.folder / "suite/task-00/task.toml").write_text(
        (bench.folder / "suite/task-00/task.toml").read_text().replace("snapshot", "live")
    )
    clean = '[[profiles]]\nname = "clean"\nagent = "noop"\n'
    faulty = FILE.replace("oracle", "noop").replace('model = "made-up/model"\n', "")
    row = run(bench, faulty + clean + fault("verifier_crash", 'profiles = ["p"]'))
    found = {cell.profile: cell.outcome for cell in bench.cells(row)}
    assert found == {0: "verifier_error", 1: "failed"}


@pytest.mark.parametrize(
    ("owner", "wanted"),
    [
        ("model", [("out_of_memory", "model", False)]),
        ("infrastructure", [("out_of_memory", "infrastructure", None), ("passed", "model", True)]),
    ],
)
def test_the_sandboxs_own_memory_limit_is_whose_the_run_set_says(
    bench: Bench, owner: str, wanted: list[tuple[object, ...]]
) -> None:
    calls: list[str] = []

    class FirstFails(FakeBackend):
        async def create(self, spec: SandboxSpec) -> Sandbox:
            calls.append("")
            self.handler = rewards(0.0 if len(calls) <= 2 else 1.0)
            return await super().create(spec)

    bench.backend = FirstFails()
    row = run(bench, FILE + f'[policy]\nout_of_memory = "{owner}"\n' + fault("oom_kill"))
    assert (row.state, ended(bench)) == ("complete", wanted)
    killed = {"oom": True, "signal": 9, "exec_limit": "memory", "crashed": True, "limit": None}
    assert killed.items() <= evidence(bench)["agent"].items()


def test_a_lost_worker_leaves_its_lease_to_end_and_the_cell_runs_again(bench: Bench) -> None:
    opened = bench.open(FILE + fault("lost_worker"))
    worker = bench.worker(opened.run_set.id, lease_sec=1.0)
    asyncio.run(worker.run(bench.engine.work_left(opened.run_set.id)))
    assert bench.engine.finish(opened.run_set.id).state == "complete"
    assert ended(bench) == [("lease_lost", "infrastructure", None), ("passed", "model", True)]
    said = evidence(bench)["record"]
    assert (said["source"], said["reason"]) == ("queue", "lease_lost")
    assert "agent" not in evidence(bench)
    assert isinstance(bench.backend, FakeBackend)
    assert bench.backend.sandboxes == {}


def test_faults_of_every_try_end_in_the_dead_letters(bench: Bench) -> None:
    row = run(bench, FILE + fault("pull_drop", "attempts = [1, 2, 3, 4]"))
    assert (row.state, ended(bench)) == ("complete_with_gaps", [("image_error", "infrastructure", None)] * 4)
    assert bench.progress(row).dead == 1
    board = bench.leaderboard(row)["p"]
    assert (board.rates.strict, board.rates.graded, board.rates.coverage) == (0.0, None, 0.0)
    assert board.rates.bounds is not None
    assert (board.rates.bounds.low, board.rates.bounds.high) == (0.0, 1.0)


def test_the_lane_of_a_rate_limit_is_shut_for_as_long_as_the_provider_said(bench: Bench) -> None:
    opened = bench.open(FILE + fault("rate_limit", "retry_after_sec = 900"))
    asked = iter([True])
    bench.work(opened.run_set.id, until=lambda: next(asked, False))
    (seconds,) = bench.sql("SELECT extract(epoch FROM closed_until - now())::int FROM proctor.queue_lane")[0]
    assert 880 < int(str(seconds)) <= 900


# --- never mixed with what is real -----------------------------------------------------------------------------------


def test_results_with_faults_are_never_reused_without_and_the_other_way_round(bench: Bench) -> None:
    run(bench, FILE + fault("eviction"))
    clean = bench.open(FILE)
    assert clean.queued == 1
    assert bench.work(clean.run_set.id).state == "complete"
    assert bench.open(FILE + "# again\n").queued == 0
    assert bench.open(FILE + fault("eviction") + "# again\n").queued == 0
    assert bench.open(FILE + fault("eviction", "attempts = [2]")).queued == 1
    assert bench.sql("SELECT count(DISTINCT configuration) FROM proctor.cell") == [(3,)]


def test_a_profile_that_no_entry_can_hit_keeps_its_configuration(bench: Bench) -> None:
    clean = bench.resolved(FILE).plan.profiles[0]
    two = FILE + '[[profiles]]\nname = "other"\nagent = "oracle"\nmodel = "made-up/model"\n'
    plan = bench.resolved(two + fault("eviction", 'profiles = ["other"]')).plan
    assert plan.profiles[0].configuration == clean.configuration
    assert plan.profiles[0].document["fault_plan"] is None
    assert plan.profiles[1].configuration != clean.configuration
    assert plan.profiles[1].document == {**clean.document, "fault_plan": plan.profiles[1].document["fault_plan"]}


def test_a_run_set_with_faults_is_not_comparable_and_says_why(bench: Bench) -> None:
    source = FILE + fault("eviction") + fault("pull_drop") + fault("eviction", "attempts = [2]")
    reason = "faults: made on purpose (eviction, pull_drop)"
    assert reason in bench.engine.reasons_before(bench.resolved(source))
    board = bench.leaderboard(run(bench, source))["p"]
    assert board.comparable is False
    assert reason in board.reasons


def test_another_worker_reads_the_plan_from_the_database(bench: Bench) -> None:
    opened = bench.open(FILE + fault("eviction"))
    bench.work(opened.run_set.id, until=lambda: False)
    bench.work(opened.run_set.id)
    assert ended(bench) == [("node_lost", "infrastructure", None), ("passed", "model", True)]


def test_a_share_hits_the_same_cells_every_time_and_tasks_only_those_named(bench: Bench) -> None:
    write_tasks(bench.folder / "many", 12)
    many = FILE.replace('"suite"', '"many"') + fault("auth_error", 'share = 0.5\nseed = 7\ntasks = "task-0*"')
    row = run(bench, many)
    resolved = bench.resolved(many)
    names = {task.content_digest: task.name for task in resolved.tasks}
    (entry,) = planned_faults(resolved.plan.profiles[0].document)
    cells = bench.cells(row)
    wanted = {c.cell for c in cells if entry.may_hit(c.cell, 1) and names[c.content_digest].startswith("task-0")}
    assert {cell.cell for cell in cells if cell.outcome == "provider_auth"} == wanted
    assert {cell.cell for cell in cells if cell.outcome == "passed"} == {cell.cell for cell in cells} - wanted
    assert bench.open(many + "# again\n").queued == len(wanted)


def test_a_pattern_that_fits_no_task_is_refused(bench: Bench) -> None:
    with pytest.raises(SpecInvalid, match=r"faults\[1\]\.tasks: No task of the suite fits 'tsak-\*'"):
        bench.resolved(FILE + fault("eviction") + fault("eviction", 'tasks = "tsak-*"'))


def test_a_disk_that_is_full_leaves_what_the_local_backend_leaves(bench: Bench) -> None:
    """The same cause in a real place: the exception that a failing write makes there."""

    class Full(FakeBackend):
        failures = 1

        async def create(self, spec: SandboxSpec) -> Sandbox:
            self.failures -= 1
            if self.failures >= 0:
                try:
                    Path("/dev/full").write_bytes(b"x")  # the kernel's own word
                except OSError as error:
                    raise SandboxStartError(error.strerror or "") from error
            return await super().create(spec)

    run(bench, FILE + fault("full_disk"))
    made = evidence(bench)["start"]
    bench.backend = Full(rewards(1.0))
    write_tasks(bench.folder / "real", 1)
    opened = bench.open(
        FILE.replace('"suite"', '"real"').replace('name = "n"', 'name = "real"').replace("oracle", "noop")
    )
    bench.work(opened.run_set.id)
    rows = bench.sql(
        "SELECT detail FROM proctor.evidence WHERE phase = 'start' AND NOT detail ? 'fault' AND detail ? 'failed'"
    )
    assert [detail for (detail,) in rows] == [{name: value for name, value in made.items() if name != "fault"}]
