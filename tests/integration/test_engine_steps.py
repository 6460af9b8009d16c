"""Tasks with steps over the fake sandbox: what runs where, what is kept, and how the whole is graded."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from proctor.agents.errors import ProfileInvalid
from proctor.agents.trajectory import parse
from proctor.engine import reading
from proctor.engine.errors import SpecInvalid
from proctor.sandboxes.errors import SandboxStartError, TransferRefused
from proctor.sandboxes.fake import FakeBackend, FakeFile, FakeSandbox
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, LimitKind, Sandbox, SandboxSpec
from tests.bench import Bench

pytestmark = pytest.mark.database

TASK = """
schema_version = "1.4"
{head}
[agent]
timeout_sec = 30
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "{mode}"
"""
STEP = """
[[steps]]
name = "{name}"
{min_reward}
"""
FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "{agent}"
{more}
"""
Answer = Callable[[FakeSandbox, ExecRequest], ExecResult]
DONE = ExecResult(exit_code=0, signal=None)
NAMES = ("one", "two", "three")


def write(
    bench: Bench,
    *,
    mode: str = "snapshot",
    head: str = "",
    min_rewards: Mapping[str, str] | None = None,
    more: str = "",
) -> Path:
    """A task of three steps, each with tests, a solution and a file of its own for the work directory."""
    task = bench.folder / "suite" / "task"
    texts = {"tests/shared.txt": "shared", "tests/test.sh": "shared test"}
    config = TASK.format(mode=mode, head=head)
    for name in NAMES:
        config += STEP.format(name=name, min_reward=(min_rewards or {}).get(name, ""))
        texts |= {
            f"steps/{name}/instruction.md": f"Do {name}.\n",
            f"steps/{name}/tests/test.sh": f"test of {name}",
            f"steps/{name}/solution/solve.sh": f"solve {name}",
            f"steps/{name}/workdir/{name}.txt": name,
        }
    for path, text in {**texts, "task.toml": config + more}.items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(text)
    return task


class Watched(FakeBackend):
    """A fake that remembers every sandbox, and answers agents and verifiers as told."""

    def __init__(self, rewards: Mapping[str, Sequence[float | None]], agent: Answer | None = None) -> None:
        super().__init__(self._answer)
        self.left = {name: list(values) for name, values in rewards.items()}
        self.agent = agent
        self.made: list[FakeSandbox] = []
        self.fail_at: int | None = None

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if self.fail_at == len(self.made):
            self.fail_at = None
            raise SandboxStartError("no sandbox today")
        sandbox = await super().create(spec)
        assert isinstance(sandbox, FakeSandbox)
        self.made.append(sandbox)
        return sandbox

    def _answer(self, sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if request.argv[-1].endswith("/tests/test.sh"):
            step = sandbox.files["/tests/test.sh"].content.decode().removeprefix("test of ")
            values = self.left.get(step, [1.0])
            reward = values.pop(0) if len(values) > 1 else values[0]
            if reward is not None:
                sandbox.files["/logs/verifier/reward.txt"] = FakeFile(f"{reward}\n".encode(), 0o100644)
            return DONE
        if request.session == "agent" and request.argv[0] == "bash":
            return self.agent(sandbox, request) if self.agent else DONE
        return DONE


def run(bench: Bench, backend: Watched, *, agent: str = "oracle", more: str = "") -> reading.AttemptDetail:
    """One attempt; everything stored of it."""
    bench.backend = backend
    (cell,) = bench.cells(bench.run(FILE.format(agent=agent, more=more)))
    assert cell.attempt is not None
    attempt = cell.attempt
    return bench.engine.read(lambda c: reading.attempt_detail(c, bench.tenant, attempt))


def phases(detail: reading.AttemptDetail) -> list[tuple[str, str]]:
    return [(item["phase"], item["detail"].get("step", "")) for item in detail.evidence]


def last(detail: reading.AttemptDetail) -> Mapping[str, Any]:
    return detail.gradings[-1]


def told(detail: reading.AttemptDetail) -> list[tuple[str, bool, object]]:
    return [(step["name"], step["reached"], step["rewards"]) for step in last(detail)["detail"]["steps"]]


def test_the_agent_goes_on_in_its_sandbox_and_every_step_is_graded_on_a_copy(bench: Bench) -> None:
    write(bench)
    backend = Watched({})
    detail = run(bench, backend)
    assert phases(detail) == [
        *((phase, "") for phase in ("prepare", "image", "start", "agent_setup")),
        *((phase, name) for name in NAMES for phase in ("start", "agent", "collect", "verify")),
        ("record", ""),
    ]
    agents, *copies = backend.made
    assert len(copies) == 3
    assert not [path for path in agents.files if path.startswith(("/tests", "/logs"))]
    assert [copy.files["/tests/test.sh"].content.decode() for copy in copies] == [f"test of {n}" for n in NAMES]
    assert all(copy.files["/tests/shared.txt"].content == b"shared" for copy in copies)
    assert all(copy.spec.base is not None and copy.spec.restore_system for copy in copies)
    assert ["/app/two.txt" in copy.files for copy in copies] == [False, True, True]
    assert all(sandbox.gone for sandbox in backend.made)
    solved = [request for request in agents.requests if request.argv[-1] == "/solution/solve.sh"]
    assert [request.timeout_sec for request in solved] == [30.0, 30.0, 30.0]
    (grading,) = detail.gradings
    assert (grading["rewards"], grading["mode"], grading["forgeable"]) == ({"reward": 1.0}, "snapshot", False)
    assert told(detail) == [(name, True, {"reward": 1.0}) for name in NAMES]
    assert detail.outcomes[-1]["class"] == "passed"
    artifacts = {artifact["name"]: artifact for artifact in detail.attempt["artifacts"]}
    assert set(artifacts) == {"state.one.tar", "state.two.tar", "state.tar", "trajectory.json"}
    assert not list(bench.folder.glob("*.tar"))
    trajectory = parse(bench.objects.get(artifacts["trajectory.json"]["key"]))
    assert [step.source for step in trajectory.steps] == ["user", "agent"] * 3
    assert [step.message for step in trajectory.steps[::2]] == [f"Do {name}.\n" for name in NAMES]


def test_in_live_only_the_last_step_is_verified_in_the_agents_sandbox(bench: Bench) -> None:
    write(bench, mode="live")
    backend = Watched({})
    detail = run(bench, backend)
    agents, *copies = backend.made
    assert len(copies) == 2
    assert agents.files["/tests/test.sh"].content == b"test of three"
    assert not any(copy.spec.restore_system for copy in copies)
    assert (last(detail)["mode"], last(detail)["forgeable"]) == ("live", True)
    names = {artifact["name"] for artifact in detail.attempt["artifacts"]}
    assert names == {"state.one.tar", "state.two.tar", "state.tar", "trajectory.json"}


def test_separate_gets_the_declared_artifacts_of_task_and_step_only(bench: Bench) -> None:
    more = 'artifacts = ["/app/two.txt"]\n'
    write(bench, mode="separate", head='artifacts = ["/app/one.txt"]', min_rewards={"two": more, "three": more})
    backend = Watched({})
    detail = run(bench, backend)
    _, one, two, three = backend.made
    assert [sorted(p for p in copy.files if p.startswith("/app")) for copy in (one, two, three)] == [
        ["/app/one.txt"],
        ["/app/one.txt", "/app/two.txt"],
        ["/app/one.txt", "/app/two.txt"],
    ]
    assert detail.outcomes[-1]["class"] == "passed"
    assert not list(bench.folder.glob("*.artifacts"))


def test_below_its_min_reward_the_rest_is_not_run_and_counts_0(bench: Bench) -> None:
    write(bench, min_rewards={"one": "min_reward = 1.0"})
    detail = run(bench, Watched({"one": [0.9]}))
    assert [step for phase, step in phases(detail) if phase == "agent"] == ["one"]
    assert last(detail)["rewards"] == pytest.approx({"reward": 0.3})
    assert last(detail)["detail"]["executed_mean"] == {"reward": 0.9}
    assert told(detail) == [("one", True, {"reward": 0.9}), ("two", False, None), ("three", False, None)]
    assert (detail.outcomes[-1]["class"], detail.outcomes[-1]["verdict"]) == ("failed", False)
    assert {artifact["name"] for artifact in detail.attempt["artifacts"]} == {"state.one.tar", "trajectory.json"}
    assert bench.sql("SELECT reward FROM proctor.result") == [(pytest.approx(0.3),)]


def test_final_counts_the_last_step_alone(bench: Bench) -> None:
    write(bench, head='multi_step_reward_strategy = "final"')
    detail = run(bench, Watched({"one": [0.0], "two": [0.0]}))
    assert (last(detail)["rewards"], detail.outcomes[-1]["class"]) == ({"reward": 1.0}, "passed")


def test_a_limit_in_the_first_step_is_verified_and_the_next_step_still_runs(bench: Bench) -> None:
    write(bench)

    def agent(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if "/app/two.txt" in sandbox.files:
            return DONE
        return ExecResult(exit_code=None, signal=9, limit=LimitKind.WALL)

    detail = run(bench, Watched({"three": [0.0]}, agent))
    assert [step for phase, step in phases(detail) if phase == "agent"] == list(NAMES)
    assert (detail.outcomes[-1]["class"], detail.outcomes[-1]["limit"]) == ("agent_limit", "time")


def test_a_crash_in_one_step_and_a_pass_of_all_is_a_pass(bench: Bench) -> None:
    write(bench)
    detail = run(bench, Watched({}, lambda sandbox, request: ExecResult(exit_code=3, signal=None)))
    assert detail.outcomes[-1]["class"] == "passed"
    assert [item["detail"]["crashed"] for item in detail.evidence if item["phase"] == "agent"] == [True] * 3


def test_a_crash_and_a_final_no_is_the_agents_error(bench: Bench) -> None:
    write(bench)
    crash: Answer = lambda sandbox, request: ExecResult(exit_code=3, signal=None)  # noqa: E731
    assert run(bench, Watched({"two": [0.0]}, crash)).outcomes[-1]["class"] == "agent_error"


def test_a_verifier_that_breaks_once_is_run_again_on_a_fresh_copy(bench: Bench) -> None:
    write(bench)
    backend = Watched({"two": [None, 1.0]})
    detail = run(bench, backend)
    broken, whole = detail.gradings
    assert (broken["number"], broken["rewards"], broken["detail"]["step"]) == (1, None, "two")
    assert (whole["number"], whole["rewards"]) == (2, {"reward": 1.0})
    assert [outcome["class"] for outcome in detail.outcomes] == ["verifier_error", "passed"]
    assert len(backend.made) == 1 + 4
    assert len({copy.id for copy in backend.made}) == 5


def test_a_verifier_that_breaks_twice_leaves_no_verdict(bench: Bench) -> None:
    write(bench)
    detail = run(bench, Watched({"two": [None]}))
    assert [step for phase, step in phases(detail) if phase == "agent"] == list(NAMES)
    assert [grading["rewards"] for grading in detail.gradings] == [None, None]
    assert last(detail)["detail"]["steps"][1]["problem"] == "reward_missing"
    assert last(detail)["detail"]["executed_mean"] == {"reward": 1.0}
    assert (detail.outcomes[-1]["class"], detail.outcomes[-1]["verdict"]) == ("verifier_error", None)


def test_a_broken_verifier_is_below_any_min_reward(bench: Bench) -> None:
    write(bench, min_rewards={"two": "min_reward = -5.0"})
    detail = run(bench, Watched({"two": [None]}))
    assert [step for phase, step in phases(detail) if phase == "agent"] == ["one", "two"]
    assert detail.outcomes[-1]["class"] == "verifier_error"


def test_a_fault_of_the_infrastructure_ends_the_attempt(bench: Bench) -> None:
    write(bench)
    backend = Watched({})
    backend.fail_at = 2
    detail = run(bench, backend)
    assert detail.outcomes[-1]["class"] == "passed"
    first = "SELECT id FROM proctor.attempt WHERE number = 1"
    ended = bench.sql(f"SELECT phase, detail->>'step' FROM proctor.evidence WHERE attempt_id = ({first}) ORDER BY seq")
    assert ended[-2:] == [("verify", "two"), ("record", None)]
    outcome = bench.sql(f"SELECT class, verdict, grading FROM proctor.outcome WHERE attempt_id = ({first})")
    assert outcome == [("sandbox_error", None, 0)]
    assert bench.sql(f"SELECT count(*) FROM proctor.grading WHERE attempt_id = ({first})") == [(0,)]


def setup(bench: Bench, step: str, answers: Mapping[str, int]) -> Watched:
    """A backend in which that step's setup.sh ends with a code; and what the task says of a healthcheck."""
    task = bench.folder / "suite" / "task"
    (task / "steps" / step / "workdir" / "setup.sh").write_text("make ready")
    backend = Watched({})
    plain = backend.handler

    def handler(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        for word, code in answers.items():
            if word in request.argv[-1]:
                return ExecResult(exit_code=code, signal=None)
        return plain(sandbox, request)

    backend.handler = handler
    return backend


def test_setup_is_run_in_the_work_directory_before_the_agent(bench: Bench) -> None:
    write(bench)
    backend = setup(bench, "two", {})
    detail = run(bench, backend)
    commands = [request.argv[-1] for request in backend.made[0].requests]
    assert commands == [
        "/solution",
        "/solution/solve.sh",
        "/app/setup.sh",
        "/solution",
        "/solution/solve.sh",
        "/solution",
        "/solution/solve.sh",
    ]
    assert detail.outcomes[-1]["class"] == "passed"


def test_before_any_agent_has_worked_a_setup_that_fails_is_the_tasks_fault(bench: Bench) -> None:
    write(bench)
    detail = run(bench, setup(bench, "one", {"setup.sh": 1}))
    assert detail.outcomes[-1]["class"] == "task_invalid"


def test_after_that_the_step_is_not_reached_so_that_no_agent_can_unmake_a_verdict(bench: Bench) -> None:
    write(bench)
    detail = run(bench, setup(bench, "two", {"setup.sh": 1}))
    assert told(detail)[1:] == [("two", False, None), ("three", False, None)]
    assert "not_reached" in detail.evidence[-2]["detail"]
    assert (detail.outcomes[-1]["class"], detail.outcomes[-1]["verdict"]) == ("failed", False)


@pytest.mark.parametrize(("code", "outcome"), [(errno.ENOSPC, "passed"), (errno.ENOTDIR, "failed")])
def test_files_that_do_not_go_in_are_the_agents_doing_or_the_hosts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, code: int, outcome: str
) -> None:
    """A full disk of the host costs a try and no verdict; a work directory that is a file costs the step."""
    write(bench)
    plain, failed = FakeSandbox.put, 0

    async def put(sandbox: FakeSandbox, source: Path, destination: str, *, user: str | None = None) -> None:
        nonlocal failed
        if source.match("steps/two/workdir") and not failed:
            failed += 1
            raise TransferRefused("no") from OSError(code, "no")
        await plain(sandbox, source, destination, user=user)

    monkeypatch.setattr(FakeSandbox, "put", put)
    detail = run(bench, Watched({}))
    assert (detail.outcomes[-1]["class"], bench.settled["sandbox_error"]) == (outcome, int(outcome == "passed"))


def test_a_steps_healthcheck_is_one_more(bench: Bench) -> None:
    check = '[steps.healthcheck]\ncommand = "is-ready"\ninterval_sec = 0.01\nretries = 1\n'
    write(bench, more=check)  # of the last step
    detail = run(bench, setup(bench, "one", {"is-ready": 1}))
    assert ("healthcheck", "three") in phases(detail)
    assert [reached for _, reached, _ in told(detail)] == [True, True, False]


def test_scripted_has_commands_by_step(bench: Bench) -> None:
    write(bench)
    script = bench.folder / "script.toml"
    script.write_text(
        '[tasks.task]\ncommands = ["echo any", "echo more"]\n[tasks.task.steps.two]\ncommands = ["echo two"]\n'
    )
    backend = Watched({})
    detail = run(bench, backend, agent="scripted", more='script = "script.toml"')
    assert [request.argv[-1] for request in backend.made[0].requests] == [
        *("echo any", "echo more", "echo two", "echo any", "echo more")
    ]
    (key,) = [a["key"] for a in detail.attempt["artifacts"] if a["name"] == "trajectory.json"]
    steps = parse(bench.objects.get(key)).steps
    assert [step.step_id for step in steps] == list(range(1, 9))
    assert len({call.tool_call_id for step in steps for call in step.tool_calls or ()}) == 5


@pytest.mark.parametrize(
    ("script", "error", "where"),
    [
        ('[tasks.task.steps.four]\ncommands = ["true"]\n', SpecInvalid, "tasks.task.steps.four"),
        ("[tasks.task.steps.one]\ncommand = 'true'\n", ProfileInvalid, "tasks.task.steps.one"),
        ("[tasks.task.steps]\none = ['true']\n", ProfileInvalid, "tasks.task.steps.one"),
    ],
)
def test_a_script_for_steps_is_checked(bench: Bench, script: str, error: type[Exception], where: str) -> None:
    write(bench)
    (bench.folder / "script.toml").write_text(script)
    with pytest.raises(error) as caught:
        bench.open(FILE.format(agent="scripted", more='script = "script.toml"'))
    assert where in str(getattr(caught.value, "where", ""))


def test_command_is_told_which_step_it_is(bench: Bench) -> None:
    write(bench)
    backend = Watched({})
    run(bench, backend, agent="command", more='command = "work"')
    requests = backend.made[0].requests
    assert [request.env["PROCTOR_STEP"] for request in requests] == list(NAMES)
    assert [request.stdin for request in requests] == [f"Do {name}.\n".encode() for name in NAMES]


def test_a_step_without_a_solution_is_the_tasks_fault(bench: Bench) -> None:
    task = write(bench)
    (task / "steps/two/solution/solve.sh").rename(task / "steps/two/solution/other.sh")
    assert run(bench, Watched({})).outcomes[-1]["class"] == "task_invalid"


def test_collect_hooks_of_task_and_step_run_when_the_agent_is_done_and_their_end_is_evidence(bench: Bench) -> None:
    hook = '[[{}verifier.collect]]\ncommand = "{}"\ntimeout_sec = 5\n'
    offers = 'skills_dir = "/skills"\nmcp_servers = [{ name = "m", transport = "stdio", command = "c" }]\n'
    task = write(bench, more=hook.format("steps.", "dump-step") + hook.format("", "dump-task"))
    config = (task / "task.toml").read_text().replace("[environment]\n", f"[environment]\n{offers}")
    (task / "task.toml").write_text(config)
    backend = setup(bench, "one", {"dump-task": 4})
    detail = run(bench, backend)
    prepared = detail.evidence[0]["detail"]
    assert (prepared["skills_dir"], prepared["mcp_servers"]) == ("/skills", ["m (stdio)"])
    hooks = [item["detail"]["hooks"] for item in detail.evidence if item["phase"] == "collect"]
    assert [[(hook["command"], hook["exit_code"]) for hook in one] for one in hooks] == [
        [("dump-task", 4)],
        [("dump-task", 4)],
        [("dump-task", 4), ("dump-step", 0)],
    ]
    assert detail.outcomes[-1]["class"] == "passed"
