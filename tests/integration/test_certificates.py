"""Certificates, the flake ledger and quarantine: what is stored, and what comparing makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from proctor.engine.assignments import LoadedTask
from proctor.engine.attempts import RunnerParts
from proctor.engine.certificates.certificate import Certificate, CheckVerdict, Ground
from proctor.engine.certificates.checking import Checker, CheckerSettings
from proctor.engine.certificates.runs import CheckRun
from proctor.engine.certificates.service import ground_for
from proctor.engine.library import CachedLibrary
from proctor.kernel.clock import SystemClock
from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.fake import FakeBackend, FakeFile, FakeSandbox, exits
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Sandbox, SandboxSpec
from tests.bench import Bench, certificate_for, write_tasks

pytestmark = [pytest.mark.endurance, pytest.mark.database]

FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "noop"
"""
MISSING = "no baseline certificate: 2 tasks (task-00, task-01); run proctor suite check"


def reasons(bench: Bench) -> list[str]:
    return bench.engine.reasons_before(bench.resolved(FILE))


# --- comparing --------------------------------------------------------------------------------------------------------


def test_without_certificates_nothing_can_be_compared_before_and_after(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    assert reasons(bench) == [MISSING]
    board = bench.leaderboard(bench.run(FILE))["p"]
    assert (board.comparable, board.reasons) == (False, (MISSING,))
    bench.certify(FILE)
    assert reasons(bench) == []
    assert bench.leaderboard(bench.run(FILE))["p"].comparable


def test_a_certificate_made_afterwards_appends_a_revision(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    row = bench.run(FILE)
    query = "SELECT revision, comparable FROM proctor.leaderboard_entry ORDER BY 1"
    assert bench.sql(query) == [(1, False)]
    bench.certify(FILE)
    for _ in range(2):
        bench.engine.finish(row.id)
        assert bench.sql(query) == [(1, False), (2, True)]


def test_many_tasks_are_counted_and_three_are_named(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 5)
    assert reasons(bench) == [
        "no baseline certificate: 5 tasks (task-00, task-01, task-02, and 2 more); run proctor suite check"
    ]


def test_a_certificate_holds_on_its_own_ground_only(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    (task,) = bench.resolved(FILE).tasks
    made = certificate_for(task, bench.backend)
    elsewhere = Ground(backend="other", environment=made.ground.environment)
    older = Ground(backend="fake", environment={**made.ground.environment, "python3": "older"})
    for ground in (elsewhere, older):
        bench.certificates.keep(replace(certificate_for(task, bench.backend), ground=ground))
        assert len(reasons(bench)) == 1
    bench.certificates.keep(made)
    assert reasons(bench) == []


def test_other_tools_of_the_suite_are_nothing_to_a_task(bench: Bench) -> None:
    """A suite's environment names the tools of all its tasks; a task's certificate names its own."""
    write_tasks(bench.folder / "suite", 1)
    bench.certify(FILE)
    config = (bench.folder / "suite/task-00/task.toml").read_text()
    other = bench.folder / "suite/task-01"
    (other / "tests").mkdir(parents=True)
    (other / "task.toml").write_text(config + '[metadata.proctor.local]\ntools = ["make"]\n')
    (other / "instruction.md").write_text("Other.\n")
    (other / "tests/test.sh").write_text("true\n")
    assert reasons(bench) == ["no baseline certificate: 1 task (task-01); run proctor suite check"]


def test_what_was_not_decided_takes_nothing_back(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    (task,) = bench.resolved(FILE).tasks
    bench.certificates.keep(certificate_for(task, bench.backend))
    undecided = CheckVerdict.NOT_DECIDED
    bench.certificates.keep(certificate_for(task, bench.backend, undecided, problems=["noop: sandbox_error"]))
    assert reasons(bench) == []
    (standing,) = bench.certificates.standings(bench.resolved(FILE).plan.suite_id, ground_for(bench.backend, [task]))
    assert (standing.verdict, standing.valid, standing.problems) == (undecided, True, ("noop: sandbox_error",))


# --- quarantine -------------------------------------------------------------------------------------------------------


def test_a_refusal_quarantines_and_a_later_certificate_releases(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    (task,) = bench.resolved(FILE).tasks
    refused = certificate_for(task, bench.backend, CheckVerdict.REFUSED, oracle=[True, False], problems=["it flakes"])
    for made in (refused, replace(refused, id=certificate_for(task, bench.backend).id)):
        bench.certificates.keep(made)
    assert reasons(bench) == ["quarantined: 1 task (task-00); proctor suite show says why"]
    assert not bench.leaderboard(bench.run(FILE))["p"].comparable
    bench.certify(FILE)
    assert reasons(bench) == []
    said = bench.sql("SELECT state, reason FROM proctor.quarantine ORDER BY at")
    assert said == [("quarantined", "it flakes"), ("released", "it is certified")]


def test_every_repetition_of_the_oracle_is_in_the_ledger(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    (task,) = bench.resolved(FILE).tasks
    made = certificate_for(task, bench.backend, CheckVerdict.REFUSED, oracle=[True, False, None])
    for _ in range(2):  # the answer to the first may have been lost
        bench.certificates.keep(made)
    assert bench.sql("SELECT count(*) FROM proctor.certificate") == [(1,)]
    rows = bench.sql("SELECT source, subject, solution, verdict FROM proctor.flake ORDER BY at, verdict")
    assert sorted(rows, key=str) == sorted(
        [("certificate", str(made.id), "oracle", verdict) for verdict in (True, False, None)], key=str
    )


def test_another_tenants_certificate_is_no_certificate(bench: Bench) -> None:
    from proctor.engine.certificates.service import CertificateService
    from proctor.identity.service import ensure_tenant
    from proctor.kernel.ids import new_id

    write_tasks(bench.folder / "suite", 1)
    (task,) = bench.resolved(FILE).tasks
    other = CertificateService(bench.database, ensure_tenant(bench.database, f"o-{new_id().hex}"))
    other.keep(certificate_for(task, bench.backend))
    assert len(reasons(bench)) == 1


# --- checking ---------------------------------------------------------------------------------------------------------


class Flaky(FakeBackend):
    """Sandboxes that don't start so many times, from the start on."""

    def __init__(self, handler: object, failures: int) -> None:
        super().__init__(handler)  # type: ignore[arg-type]
        self.failures = failures

    async def create(self, spec: SandboxSpec) -> Sandbox:
        self.failures -= 1
        if self.failures >= 0:
            raise SandboxStartError("no room")
        return await super().create(spec)


def answers(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
    """A verifier that says yes exactly where the reference solution ran."""
    if request.argv[-1] == "/solution/solve.sh":
        sandbox.files["/app/answer"] = FakeFile(b"42", 0o100644)
    if request.argv[-1] == "/tests/test.sh":
        word = b"1" if "/app/answer" in sandbox.files else b"0"
        sandbox.files["/logs/verifier/reward.txt"] = FakeFile(word, 0o100644)
    return exits(0)(sandbox, request)


def check(bench: Bench, *, slots: int = 2, stop_after: int | None = None) -> tuple[list[Certificate | None], list[str]]:
    """Check the suite; the certificates, and the solutions in the order they were done with."""
    parts = RunnerParts(
        backend=bench.backend,
        objects=bench.objects,
        library=CachedLibrary(bench.suites, bench.folder / "cache"),
        clock=SystemClock(),
        owner="o",
        scratch=bench.folder,
    )
    seen: list[str] = []

    def on_run(task: LoadedTask, run: CheckRun) -> None:
        seen.append(run.check.solution)
        if len(seen) == stop_after:
            checker.stop()

    async def keep(task: LoadedTask, made: Certificate) -> None:
        await asyncio.to_thread(bench.certificates.keep, made)

    settings = CheckerSettings(slots=slots, oracle_runs=5, made_by="me", on_run=on_run, on_certificate=keep)
    checker = Checker(parts, settings)
    tasks = bench.resolved(FILE).tasks
    work = [(parts.library.load(bench.tenant, one.content_digest), ground_for(bench.backend, [one])) for one in tasks]
    return asyncio.run(checker.check(work)), seen


def verdicts(made: Sequence[Certificate | None]) -> list[str | None]:
    return [one.verdict.value if one else None for one in made]


def test_a_sound_task_is_certified_and_stored(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 2)
    bench.backend = FakeBackend(answers)
    made, seen = check(bench)
    assert verdicts(made) == ["certified", "certified"]
    assert (seen.count("oracle"), seen.count("noop"), seen.count("git-history")) == (10, 2, 2)
    assert bench.sql("SELECT verdict, jsonb_array_length(runs) FROM proctor.certificate") == [("certified", 16)] * 2
    assert bench.sql("SELECT count(*) FROM proctor.flake WHERE verdict") == [(10,)]
    assert reasons(bench) == []
    assert not list(bench.folder.glob("*.objects"))


def test_a_verifier_that_always_says_yes_is_refused(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    ((made,), _) = check(bench)
    assert made is not None
    assert made.verdict is CheckVerdict.REFUSED
    assert len(made.problems) == 10
    assert "the forgery git-history passes" in made.problems


def test_a_fault_of_the_infrastructure_is_tried_once_more(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.backend = Flaky(answers, 1)
    ((made,), _) = check(bench)
    assert made is not None
    assert (made.verdict, made.runs[0]["tries"]) == (CheckVerdict.CERTIFIED, 2)


def test_and_if_it_comes_again_nothing_is_decided(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    bench.backend = Flaky(answers, 2)
    ((made,), _) = check(bench)
    assert made is not None
    assert made.verdict is CheckVerdict.NOT_DECIDED
    assert made.problems[0].startswith("oracle: sandbox_error: no room")
    assert bench.sql("SELECT count(*) FROM proctor.quarantine") == [(0,)]
    assert len(reasons(bench)) == 1


def test_a_task_that_can_t_run_here_is_not_decided_by_its_first_run(bench: Bench) -> None:
    config = 'schema_version = "1.4"\n[agent]\ntimeout_sec = 30\n[environment]\ngpus = 1\nnetwork_mode = "no-network"\n'
    write_tasks(bench.folder / "suite", 1, config=config)
    ((made,), seen) = check(bench)
    assert made is not None
    assert (made.verdict, seen) == (CheckVerdict.NOT_DECIDED, ["oracle"])
    assert bench.sql("SELECT count(*) FROM proctor.quarantine") == [(0,)]


def test_stopping_keeps_what_is_complete(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 3)
    bench.backend = FakeBackend(answers)
    made, _ = check(bench, slots=1, stop_after=20)
    assert verdicts(made) == ["certified", None, None]
    assert bench.sql("SELECT count(*) FROM proctor.certificate") == [(1,)]
