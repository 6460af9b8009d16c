"""Healthchecks with Docker's semantics, over a clock that moves only when it is told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from proctor.engine.healthchecks import becomes_healthy
from proctor.kernel.canonical import Json
from proctor.kernel.clock import FakeClock
from proctor.kernel.ids import new_id
from proctor.sandboxes.fake import FakeBackend, FakeSandbox
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Labels, SandboxSpec
from proctor.suites.tasks import Healthcheck


async def probes(
    *, healthy_at: float | None, exec_sec: float = 0.0, start_period: float = 0.0, retries: int = 3
) -> tuple[bool, list[float], dict[str, Json]]:
    """Whether a service that is well from a second on is found so, when it was asked, and what is told."""
    clock, times = FakeClock(), []

    def answer(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        times.append(clock.monotonic())
        clock.advance(exec_sec)
        well = healthy_at is not None and times[-1] >= healthy_at
        return ExecResult(exit_code=0 if well else 1, signal=None)

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    labels = Labels(tenant=new_id(), run_set=new_id(), attempt=new_id(), owner="o", expires_at=datetime.now(UTC))
    sandbox = await FakeBackend(answer).create(SandboxSpec(labels=labels))
    check = Healthcheck(
        command="is-ready",
        interval_sec=10.0,
        timeout_sec=5.0,
        start_period_sec=start_period,
        start_interval_sec=2.0,
        retries=retries,
    )
    detail: dict[str, Json] = {}
    found = await becomes_healthy(sandbox, check, "/", detail, clock=clock, sleep=sleep)
    return found, times, detail


async def test_what_is_ready_waits_for_nothing() -> None:
    found, times, detail = await probes(healthy_at=0)
    assert (found, times, detail["tries"]) == (True, [0], 1)


async def test_without_a_start_period_retries_count_from_the_first_interval() -> None:
    found, times, detail = await probes(healthy_at=None)
    assert (found, times, detail["tries"]) == (False, [0, 10, 20, 30], 4)


async def test_failures_in_the_start_period_count_for_nothing_and_come_at_the_start_interval() -> None:
    found, times, _ = await probes(healthy_at=None, start_period=7, retries=2)
    assert (found, times) == (False, [0, 2, 4, 6, 8, 18])


async def test_a_success_in_the_start_period_is_the_end_of_it() -> None:
    found, times, _ = await probes(healthy_at=3, start_period=600, retries=1)
    assert (found, times) == (True, [0, 2, 4])


async def test_a_probe_that_began_in_the_start_period_does_not_count_if_it_ends_after_it() -> None:
    found, times, _ = await probes(healthy_at=None, start_period=3, exec_sec=4, retries=1)
    assert (found, times) == (False, [0, 14])
    found, times, _ = await probes(healthy_at=20, start_period=5, exec_sec=4, retries=1)
    assert (found, times) == (False, [0, 6])


@pytest.mark.parametrize(("healthy_at", "found"), [(30, True), (31, False)])
async def test_the_last_retry_may_be_the_one(healthy_at: float, found: bool) -> None:
    assert (await probes(healthy_at=healthy_at))[0] is found
