"""Verification: a sandbox that the agent can't act in any more, trusted tests, and a strictly read reward.

The modes are those of ``docs/explanation/outcomes.md``: ``separate`` (only declared artifacts), ``snapshot`` (the
agent's final filesystem, nothing running), ``live`` (the agent's own sandbox).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.engine.evidence import STDOUT_TAIL, GradingFacts, VerifierProblem
from proctor.engine.phases import exec_detail
from proctor.engine.pytest_summary import parse_summary
from proctor.engine.rewards import MAX_REWARD_BYTES, parse_rewards
from proctor.engine.secrets import scrub_detail
from proctor.kernel.canonical import Json
from proctor.kernel.clock import Clock
from proctor.sandboxes.errors import LeftBroken, TransferRefused
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, LimitKind, Sandbox
from proctor.suites.tasks import Task, VerdictSource, VerificationMode

__all__ = ["Verification", "grade", "without_secrets"]

_TESTS: str = "/tests"
_LOGS: str = "/logs/verifier"
_CLEAR: str = (
    f"chmod -R u+rwX {_TESTS} {_LOGS} 2>/dev/null; rm -rf {_TESTS} {_LOGS} && mkdir -p {_TESTS} {_LOGS} "
    f"&& test ! -L {_TESTS} && test ! -L {_LOGS}"
)
"""Agent-made files at the tests' and the reward's places go before anything trusted is put there."""
_ABOVE_TESTS: str = (
    "rm -rf /conftest.py /pytest.ini /.pytest.ini /pytest.toml /.pytest.toml /pyproject.toml /tox.ini /setup.cfg "
    "2>/dev/null; "
)
"""pytest looks for its settings, and for code to run, in every folder above trusted tests too, and that is `/`."""


_NOTHING_RAN = ExecResult(exit_code=None, signal=9)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """One grading to be made."""

    task: Task
    tests: Sequence[Path]
    """Folders laid over one another at /tests, the last on top."""
    verifier_digest: str
    mode: VerificationMode
    backend: str
    number: int
    env: Mapping[str, str]
    timeout_sec: float
    user: str | None
    """Whom the verifier runs as; ``None``: the sandbox's own default."""
    clearing_user: str | None
    """Who can remove whatever an agent left where the verifier's files belong."""
    on_output: Callable[[str, bytes], None]
    of_step: bool = False
    """A step may leave the primary reward to others: then it counts 0."""


async def grade(sandbox: Sandbox, verification: Verification, clock: Clock) -> GradingFacts:
    """Run the verifier in ``sandbox`` and read its reward. Raises only what the sandbox raises."""
    clear = _CLEAR if sandbox.workdir == "/" else _ABOVE_TESTS + _CLEAR
    try:
        cleared = await sandbox.exec(
            ExecRequest(argv=["/bin/sh", "-c", clear], user=verification.clearing_user, cwd="/", timeout_sec=120)
        )
    except LeftBroken:  # whether that is the agent's doing is said by the reference solution
        return _facts(verification, clock, _NOTHING_RAN, VerifierProblem.CRASH, stage="clear")
    if cleared.exit_code != 0:
        return _facts(verification, clock, cleared, VerifierProblem.CRASH, stage="clear")
    if verification.clearing_user is not None:
        await _give_logs(sandbox, verification.user)
    for tests in verification.tests:
        await sandbox.put(tests, _TESTS, user=verification.user)
    result = await sandbox.exec(
        ExecRequest(
            argv=["bash", f"{_TESTS}/{verification.task.verifier.script}"],
            env=verification.env,
            user=verification.user,
            cwd=sandbox.workdir,
            timeout_sec=verification.timeout_sec,
            on_output=verification.on_output,
            session="verifier",
        )
    )
    await sandbox.kill_session("verifier")
    if result.limit is LimitKind.WALL:
        return _facts(verification, clock, result, VerifierProblem.TIMEOUT, stage="test")
    by_output = verification.task.verifier.verdict is VerdictSource.PYTEST_SUMMARY
    read = _read_summary(result) if by_output else await _read_rewards(sandbox)
    left = 0 if verification.mode is VerificationMode.LIVE else await sandbox.processes()
    return _facts(verification, clock, result, read, stage="test", left_running=left)


async def _give_logs(sandbox: Sandbox, user: str | None) -> None:
    """The reward's folder is the verifier's own, who need not be the one that cleared it: no agent can write it."""
    with tempfile.TemporaryDirectory() as empty:
        Path(empty).chmod(0o755)
        await sandbox.put(Path(empty), _LOGS, user=user)


def without_secrets(facts: GradingFacts, secrets: Sequence[str]) -> GradingFacts:
    """The same with every secret masked in what the verifier printed."""
    return replace(facts, detail={key: scrub_detail(value, secrets) for key, value in facts.detail.items()})


def _read_summary(result: ExecResult) -> Mapping[str, float] | VerifierProblem:
    """The verdict that pytest printed; of an output that was cut the part with a failure may be what is missing."""
    return VerifierProblem.UNPARSABLE if result.truncated else parse_summary(result.stdout)


def _last_lines(printed: bytes) -> str:
    """Whole lines, for a reader: a secret that a cut went through would not be known for one."""
    last = printed[-STDOUT_TAIL:]
    whole = last if len(printed) <= STDOUT_TAIL else last.partition(b"\n")[2]
    return whole.decode("utf-8", "replace").replace("\x00", "\ufffd")


async def _read_rewards(sandbox: Sandbox) -> Mapping[str, float] | VerifierProblem:
    """The reward files, through no link and no longer than a reward is."""
    try:
        json_file = await sandbox.read(f"{_LOGS}/reward.json", MAX_REWARD_BYTES)
        text_file = await sandbox.read(f"{_LOGS}/reward.txt", MAX_REWARD_BYTES)
    except TransferRefused:
        return VerifierProblem.UNPARSABLE
    return parse_rewards(json_file, text_file)


def _facts(
    verification: Verification,
    clock: Clock,
    result: ExecResult,
    read: Mapping[str, float] | VerifierProblem,
    *,
    stage: str,
    left_running: int = 0,
) -> GradingFacts:
    """``left_running``: processes that left the verifier's session and outlived it; they could write what it writes."""
    task = verification.task
    problem = read if isinstance(read, VerifierProblem) else None
    rewards = None if isinstance(read, VerifierProblem) else read
    if rewards is not None and task.primary_reward not in rewards and not verification.of_step:
        problem = VerifierProblem.MISSING
    if problem is VerifierProblem.MISSING and result.signal is not None:
        problem = VerifierProblem.CRASH
    absent = 0.0 if verification.of_step else None
    primary = rewards.get(task.primary_reward, absent) if rewards is not None else None
    detail: dict[str, Json] = {**exec_detail(result), "stage": stage, "problem": problem.value if problem else None}
    detail["stdout_tail"] = _last_lines(result.stdout)
    if left_running:
        detail["left_running"] = left_running
    by_output = task.verifier.verdict is VerdictSource.PYTEST_SUMMARY
    return GradingFacts(
        number=verification.number,
        verifier_digest=verification.verifier_digest,
        mode=verification.mode.value,
        backend=verification.backend,
        forgeable=verification.mode is VerificationMode.LIVE or by_output or left_running > 0,
        rewards=rewards,
        passed=None if problem or primary is None else primary >= task.pass_threshold,
        problem=problem,
        primary=primary,
        graded_at=clock.now(),
        detail=detail,
    )
