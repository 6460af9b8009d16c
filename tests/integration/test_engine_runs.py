"""Run sets from file to leaderboard, over the fake sandbox: identity, reuse, retries, precedence, order of writes."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from proctor.agents.trajectory import parse
from proctor.engine import reading
from proctor.engine.errors import RunSetMoved, RunSetUnknown
from proctor.engine.service import OnMoved, Selection
from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.fake import FakeBackend, FakeFile, FakeSandbox, exits, rewards
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, LimitKind, Sandbox, SandboxSpec
from tests.bench import TASK, Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
trials = {trials}
reuse = "{reuse}"
[[profiles]]
name = "p"
series = "s"
agent = "{agent}"
[execution]
concurrency = 4
"""


def file(*, trials: int = 1, reuse: str = "30d", agent: str = "noop", more: str = "") -> str:
    return FILE.format(trials=trials, reuse=reuse, agent=agent) + more


def answer(agent: ExecResult | None, reward: float | None) -> Callable[[FakeSandbox, ExecRequest], ExecResult]:
    """The agent's exec ends so; the verifier leaves this reward, or none."""
    verifier = rewards(reward) if reward is not None else exits(0)

    def handler(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if request.session == "agent" and agent is not None:
            return agent
        return verifier(sandbox, request)

    return handler


class Failing(FakeBackend):
    """A fake whose first sandboxes do not start."""

    def __init__(self, failures: int) -> None:
        super().__init__(rewards(1.0))
        self.failures = failures

    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.failures -= 1
        if self.failures >= 0:
            raise SandboxStartError("no sandbox today")
        return await super().create(spec)


def test_every_phase_row_and_artifact_of_a_cell_is_there(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    row = bench.run(file(agent="oracle"))
    assert row.state == "complete"
    (cell,) = bench.cells(row)
    assert (cell.outcome, cell.owner, cell.verdict, cell.reward, cell.attempts) == ("passed", "model", True, 1.0, 1)
    assert cell.attempt is not None
    detail = bench.engine.read(lambda c: reading.attempt_detail(c, bench.tenant, cell.attempt))  # type: ignore[arg-type]
    phases = [item["phase"] for item in detail.evidence]
    assert phases == ["prepare", "image", "start", "agent_setup", "agent", "collect", "verify", "record"]
    assert all(item["ended_at"] >= item["started_at"] for item in detail.evidence)
    assert [grading["mode"] for grading in detail.gradings] == ["snapshot"]
    assert [outcome["rule"] for outcome in detail.outcomes] == ["pass"]
    artifacts = {artifact["name"]: artifact for artifact in detail.attempt["artifacts"]}
    assert set(artifacts) == {"state.tar", "trajectory.json"}
    trajectory = parse(bench.objects.get(artifacts["trajectory.json"]["key"]))
    assert [step.source for step in trajectory.steps] == ["user", "agent"]
    names = [name for (name,) in bench.sql("SELECT name FROM proctor.event ORDER BY seq")]
    assert names == ["run_set.created", "attempt.started", "attempt.ended", "run_set.complete"]
    assert len({trace for (trace,) in bench.sql("SELECT trace_id FROM proctor.event")}) == 1
    assert bench.sql("SELECT count(*) FROM proctor.queue_item") == [(0,)]


def test_one_malformed_task_stops_no_other(bench: Bench) -> None:
    """20 tasks, one malformed: 19 results and one task_invalid, and the run set says it has gaps."""
    write_tasks(bench.folder / "suite", 20, malformed=1)
    bench.certify(file())
    row = bench.run(file())
    assert (row.state, row.reason) == ("complete_with_gaps", "1 cell without a verdict")
    assert bench.settled == {"passed": 19, "task_invalid": 1}
    board = bench.leaderboard(row)["p"]
    assert board.rates.counts.expected == 20
    assert (board.rates.strict, board.rates.graded, board.rates.coverage) == (0.95, 1.0, 0.95)
    assert board.comparable is False
    assert board.reasons == ("coverage: 1 of 20 cells have no verdict",)
    assert board.usage.coverage == 1.0


def test_a_finished_run_set_is_found_again_and_does_nothing(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 3, malformed=1)
    first = bench.run(file())
    again = bench.open(file())
    assert (again.run_set.id, again.created, again.queued) == (first.id, False, 0)


def test_a_cell_exists_once_and_an_edited_file_takes_it_for_nothing(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    bench.run(file(trials=2))
    edited = bench.open(file(trials=3, more="# edited\n"))
    assert (edited.created, edited.queued) == (True, 2)
    row = bench.work(edited.run_set.id)
    board = bench.leaderboard(row)["p"]
    assert (board.rates.counts.expected, board.usage.attempts) == (6, 6)
    cells, oldest = bench.engine.read(lambda c: reading.reused(c, bench.tenant, row))
    assert cells == 4
    assert oldest is not None
    assert sorted(cell.trial for cell in bench.cells(row)) == [1, 1, 2, 2, 3, 3]


def test_reuse_off_and_fresh_expect_new_trials(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.run(file(trials=2))
    off = bench.run(file(trials=2, reuse="off"))
    assert sorted(cell.trial for cell in bench.cells(off)) == [3, 4]
    fresh = bench.open(file(trials=2), fresh=True)
    assert sorted(cell.trial for cell in bench.cells(fresh.run_set)) == [5, 6]
    board = bench.leaderboard(bench.work(fresh.run_set.id))["p"]
    assert (board.other_trials, board.other_trials_mean) == (4, 1.0)


def test_verdicts_older_than_reuse_allows_are_not_taken(bench: Bench, age_results: Callable[[], None]) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.run(file())
    age_results()
    later = bench.open(file(more="# later\n"))
    assert later.queued == 1
    assert [cell.trial for cell in bench.cells(later.run_set)] == [2]


def test_a_changed_readme_is_the_same_cell_and_a_changed_instruction_is_not(bench: Bench) -> None:
    task = write_tasks(bench.folder / "suite", 1) / "task-00"
    bench.run(file())
    (task / "README.md").write_text("A typo.\n")
    assert bench.open(file()).queued == 0
    (task / "instruction.md").write_text("Do something else.\n")
    assert bench.open(file()).queued == 1


def test_what_has_moved_starts_nothing_until_a_person_chose(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    script = bench.folder / "script.toml"
    script.write_text('[tasks."task-00"]\ncommands = ["true"]\n')
    source = file(agent="scripted", more="").replace('agent = "scripted"', 'agent = "scripted"\nscript = "script.toml"')
    first = bench.run(source)
    script.write_text('[tasks."task-00"]\ncommands = ["false"]\n')
    with pytest.raises(RunSetMoved, match=r"p: options\.script\.task-00: was \['true'\], is \['false'\]"):
        bench.open(source)
    kept = bench.open(source, on_moved=OnMoved.CONTINUE)
    assert (kept.run_set.id, kept.queued) == (first.id, 0)
    new = bench.open(source, on_moved=OnMoved.NEW)
    assert (new.created, new.queued) == (True, 1)
    assert new.run_set.id != first.id
    assert bench.open(source).run_set.id == new.run_set.id


def test_a_sandbox_that_starts_at_the_second_try_costs_no_verdict(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.backend = Failing(1)
    row = bench.run(file())
    assert (row.state, bench.settled) == ("complete", {"sandbox_error": 1, "passed": 1})
    (cell,) = bench.cells(row)
    assert cell.attempts == 2


def test_a_fault_that_stays_ends_in_the_dead_letters_and_resume_revives(bench: Bench, due: Callable[[], None]) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.backend = Failing(4)
    opened = bench.open(file())
    left = bench.engine.work_left(opened.run_set.id)

    def left_after_time_passed() -> bool:
        due()
        return left()

    row = bench.work(opened.run_set.id, until=left_after_time_passed)
    assert (row.state, bench.settled) == ("complete_with_gaps", {"sandbox_error": 4})
    assert bench.progress(row).dead == 1
    assert bench.engine.resume(row.id) == 1
    assert bench.work(row.id).state == "complete"
    assert bench.cells(row)[0].attempts == 5


@pytest.mark.parametrize(
    ("agent", "reward", "wanted", "limit"),
    [
        (ExecResult(exit_code=0, signal=None), 1.0, "passed", ""),
        (ExecResult(exit_code=0, signal=None), 0.0, "failed", ""),
        (ExecResult(exit_code=3, signal=None), 0.0, "agent_error", ""),
        (ExecResult(exit_code=None, signal=9, limit=LimitKind.WALL), 0.0, "agent_limit", "time"),
        (ExecResult(exit_code=None, signal=9, limit=LimitKind.WALL), 1.0, "passed", "time"),
        (ExecResult(exit_code=None, signal=9, limit=LimitKind.DISK), 0.0, "agent_limit", "storage"),
        (ExecResult(exit_code=None, signal=9, oom=True, limit=LimitKind.MEMORY), 0.0, "out_of_memory", ""),
        (ExecResult(exit_code=0, signal=None), None, "verifier_error", ""),
    ],
)
def test_how_an_agent_and_its_verifier_end(
    bench: Bench, agent: ExecResult, reward: float | None, wanted: str, limit: str
) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.backend = FakeBackend(answer(agent, reward))
    row = bench.run(file(agent="oracle"))
    (cell,) = bench.cells(row)
    assert (cell.outcome, cell.limit) == (wanted, limit)


def test_a_broken_verifier_is_run_once_more_over_the_same_state(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    runs: list[str] = []

    def handler(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if request.session != "verifier":
            return ExecResult(exit_code=0, signal=None)
        runs.append(sandbox.id)
        return rewards(1.0)(sandbox, request) if len(runs) == 2 else ExecResult(exit_code=1, signal=None)

    bench.backend = FakeBackend(handler)
    row = bench.run(file())
    assert len(set(runs)) == 2
    assert bench.cells(row)[0].outcome == "passed"
    classes = bench.sql("SELECT grading, class, verdict FROM proctor.outcome ORDER BY grading")
    assert classes == [(1, "verifier_error", None), (2, "passed", True)]


def test_planted_rewards_and_tests_are_gone_before_the_verifier(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1, config=TASK.replace("snapshot", "live"))
    bench.backend = FakeBackend(exits(0))
    bench.run(file())
    (detail,) = bench.sql("SELECT detail FROM proctor.grading WHERE number = 1")
    assert detail[0]["problem"] == "reward_missing"  # type: ignore[index]
    assert bench.sql("SELECT bool_and(forgeable) FROM proctor.grading") == [(True,)]


def test_a_secret_reaches_the_agent_and_nothing_that_is_stored(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    secret = "sk-planted-0123456789"
    seen: list[str] = []

    def handler(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if request.session == "agent":
            seen.append(request.env["TOKEN"])
            for piece in (secret[:7], secret[7:] + "\n"):
                assert request.on_output is not None
                request.on_output("stdout", piece.encode())
            return ExecResult(exit_code=0, signal=None, stdout=secret.encode())
        return rewards(1.0)(sandbox, request)

    bench.backend, bench.secrets = FakeBackend(handler), {"KEY": secret}
    more = '\n[secrets]\nnames = ["KEY"]\n'
    source = file(agent="command", more=more).replace(
        'agent = "command"', 'agent = "command"\ncommand = "x"\nenv = { TOKEN = "${KEY}" }'
    )
    bench.run(source)
    assert seen == [secret]
    keys = list(bench.objects.list(f"{bench.tenant}"))
    assert any("log/" in key for key in keys)
    assert not [key for key in keys if secret.encode() in bench.objects.get(key)]
    for table in ("evidence", "attempt", "grading", "event", "configuration", "run_set"):
        assert bench.sql(f"SELECT count(*) FROM proctor.{table} t WHERE t::text LIKE :s", s=f"%{secret}%") == [(0,)]


def test_an_unlisted_variable_makes_the_task_invalid_and_names_it(bench: Bench) -> None:
    write_tasks(
        bench.folder / "suite", 1, config=TASK.replace("[environment]", '[environment]\nenv = { A = "${HOME}" }')
    )
    row = bench.run(file())
    (cell,) = bench.cells(row)
    assert cell.outcome == "task_invalid"
    (message,) = bench.sql("SELECT detail->>'message' FROM proctor.evidence WHERE detail ? 'failed'")
    assert "HOME" in str(message[0])


def test_limit_task_and_owed_choose_what_is_worked_on_and_nothing_leaves_the_denominator(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 4)
    opened = bench.open(file(), selection=Selection(task_glob="task-0[23]"))
    row = bench.work(opened.run_set.id)
    assert (opened.queued, row.state, bench.progress(row).expected) == (2, "complete_with_gaps", 4)
    assert bench.open(file(), selection=Selection(only_owed=True)).queued == 0
    assert bench.open(file(), selection=Selection(limit=1)).queued == 1
    assert bench.open(file()).queued == 2


def test_pause_resume_and_cancel(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 3)
    opened = bench.open(file())
    bench.engine.pause(opened.run_set.id)
    asyncio.run(bench.worker(opened.run_set.id).run(bench.engine.work_left(opened.run_set.id)))
    assert bench.settled == {}
    assert bench.sql("SELECT state, count(*) FROM proctor.queue_item GROUP BY 1") == [("paused", 3)]
    assert bench.engine.resume(opened.run_set.id) == 3
    bench.engine.cancel(opened.run_set.id)
    assert bench.sql("SELECT count(*) FROM proctor.queue_item") == [(0,)]
    assert bench.engine.resume(opened.run_set.id) == 3
    assert bench.work(opened.run_set.id).state == "complete"


def test_a_run_set_cancelled_from_elsewhere_stays_cancelled(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    opened = bench.open(file())
    bench.engine.cancel(opened.run_set.id, "enough")
    row = bench.work(opened.run_set.id)
    assert (row.state, row.reason, bench.settled) == ("cancelled", "enough", {})


def test_a_reward_behind_a_link_is_no_reward(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)

    def handler(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if request.session == "verifier":
            sandbox.files["/logs/verifier/reward.txt"] = FakeFile(b"/etc/hostname", stat.S_IFLNK | 0o777)
        return ExecResult(exit_code=0, signal=None)

    bench.backend = FakeBackend(handler)
    row = bench.run(file())
    assert bench.cells(row)[0].outcome == "verifier_error"
    assert bench.sql("SELECT detail->>'problem' FROM proctor.grading") == [("reward_unparsable",)] * 2


def test_a_cell_that_two_run_sets_want_runs_once_and_stops_only_when_both_do(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    first, second = bench.open(file()), bench.open(file(more="# other\n"))
    assert bench.sql("SELECT count(*) FROM proctor.queue_item") == [(2,)]
    bench.engine.pause(first.run_set.id)
    row = bench.work(second.run_set.id)
    assert (row.state, bench.settled) == ("complete", {"passed": 2})
    assert bench.progress(first.run_set).decided == 2
    assert {run_set for (run_set,) in bench.sql("SELECT run_set_id FROM proctor.attempt")} == {second.run_set.id}


def test_cancelling_a_running_worker_keeps_the_evidence_and_resume_finishes(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    started = threading.Event()

    class Stuck(FakeBackend):
        async def create(self, spec: SandboxSpec) -> Sandbox:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    bench.backend = Stuck()
    opened = bench.open(file())
    worker = bench.worker(opened.run_set.id)

    def cancel() -> None:
        started.wait(10)
        worker.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    asyncio.run(worker.run(bench.engine.work_left(opened.run_set.id)))
    canceller.join()
    assert set(bench.settled) == {"cancelled"}
    bench.backend = FakeBackend(rewards(1.0))
    bench.engine.resume(opened.run_set.id)
    assert bench.work(opened.run_set.id).state == "complete"


def test_cancelling_a_run_set_ends_what_runs_but_not_what_another_wants(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    started = threading.Semaphore(0)

    class Stuck(FakeBackend):
        async def create(self, spec: SandboxSpec) -> Sandbox:
            started.release()
            await asyncio.sleep(20)
            raise AssertionError("it was not ended")

    bench.backend = Stuck()
    first = bench.open(file()).run_set
    second = bench.open(file(more="# of somebody else\n"), selection=Selection(task_glob="task-00")).run_set
    worker = bench.worker(first.id)

    def cancel() -> None:
        for _ in range(2):
            started.acquire(timeout=10)
        bench.engine.cancel(first.id)
        started.acquire(timeout=3)
        seen.append(bench.sql("SELECT count(*) FROM proctor.attempt WHERE ended_at IS NULL")[0][0])
        worker.cancel()

    seen: list[int] = []
    canceller = threading.Thread(target=cancel)
    canceller.start()
    asyncio.run(worker.run(lambda: not seen))
    canceller.join()
    assert seen == [1], "one is still wanted by the other run set"
    assert bench.settled == {"cancelled": 2}
    bench.backend = FakeBackend(rewards(1.0))
    assert bench.work(second.id).state in ("complete", "complete_with_gaps")
    assert bench.engine.resume(first.id) >= 1
    assert bench.work(first.id).state == "complete"


def test_history_follows_the_series(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.certify(file())
    bench.run(file())
    bench.engine.finish(bench.open(file()).run_set.id)
    bench.run(file(trials=2))
    rows = bench.engine.read(lambda c: reading.history(c, bench.tenant, "s"))
    assert [(row["revision"], row["counts"]["expected"], row["comparable"]) for row in rows] == [
        (1, 1, True),
        (2, 2, True),
    ]


def test_overrides_make_a_run_set_not_comparable_before_and_after(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    source = file(more="[policy]\nagent_timeout = 5\n")
    bench.certify(source)
    before = bench.engine.reasons_before(bench.resolved(source))
    assert before == ["policy.agent_timeout: 5.0 overrides what the tasks say"]
    board = bench.leaderboard(bench.run(source))["p"]
    assert (board.comparable, list(board.reasons)) == (False, before)


def test_run_sets_are_found_by_name_id_and_beginning(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    row = bench.run(file())
    for reference in (None, "n", str(row.id), str(row.id)[:8]):
        assert bench.engine.read(lambda c, r=reference: reading.find_run_set(c, bench.tenant, r)).id == row.id  # type: ignore[misc]
    with pytest.raises(RunSetUnknown):
        bench.engine.read(lambda c: reading.find_run_set(c, bench.tenant, "other"))


def test_nul_and_broken_characters_in_output_are_stored(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    ended = ExecResult(exit_code=1, signal=None, stderr=b"\x00\xff\xed\xa0\x80 end", stdout=b"\x00")
    bench.backend = FakeBackend(answer(ended, 0.0))
    row = bench.run(file(agent="oracle"))
    assert bench.cells(row)[0].outcome == "agent_error"
    (tail,) = bench.sql("SELECT detail->>'stderr_tail' FROM proctor.evidence WHERE phase = 'agent'")
    assert str(tail[0]).endswith(" end")


@pytest.fixture
def due(bench: Bench) -> Callable[[], None]:
    """Let every waiting row's time come."""

    def make_due() -> None:
        come = text("UPDATE proctor.queue_item SET run_at = now() WHERE state = 'waiting'")
        bench.database.as_scheduler(lambda connection: connection.execute(come))

    return make_due


@pytest.fixture
def age_results(bench: Bench) -> Callable[[], None]:
    """Make the tenant's verdicts 31 days old: facts can't be updated, so they are written again as older ones."""

    def age() -> None:
        from sqlalchemy import create_engine

        engine = create_engine(bench.owner)
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('proctor.tenant', :t, true)"), {"t": str(bench.tenant)})
            connection.execute(text("UPDATE proctor.result SET decided_at = decided_at - interval '31 days'"))
        engine.dispose()

    return age


def test_json_of_a_status_has_no_surprises(bench: Bench, tmp_path: Path) -> None:
    from proctor.sdk.documents import document

    write_tasks(bench.folder / "suite", 1)
    row = bench.run(file())
    status = bench.engine.read(lambda c: reading.status(c, bench.tenant, row))
    assert json.loads(json.dumps(document(status)))["progress"]["decided"] == 1
