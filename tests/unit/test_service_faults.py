"""Whose it is when a service does not become ready."""

from __future__ import annotations

import pytest

from proctor.engine.evidence import Phase
from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass, classify, dispose, load_policy
from proctor.engine.phases import PhaseFailed, PhaseRecorder
from proctor.engine.service_faults import ServiceFaults
from proctor.kernel.clock import SystemClock
from proctor.sandboxes.errors import ServiceFailed, ServiceFault

TASK = "sha256:1"


def failure(
    fault: ServiceFault = ServiceFault.EXITED, ended_with: int | None = 1, service: str = "db"
) -> ServiceFailed:
    return ServiceFailed("words", service=service, fault=fault, ended_with=ended_with)


@pytest.mark.parametrize("fault", [ServiceFault.EXITED, ServiceFault.UNHEALTHY])
def test_what_happens_twice_one_after_the_other_is_the_tasks(fault: ServiceFault) -> None:
    faults = ServiceFaults()
    assert not faults.met(TASK, failure(fault), began=0, now=10).is_the_tasks
    assert faults.met(TASK, failure(fault), began=10, now=20).is_the_tasks


def test_side_by_side_two_failures_may_have_one_cause() -> None:
    faults = ServiceFaults()
    for began in (0, 1, 9):
        assert not faults.met(TASK, failure(), began=began, now=10 + began).is_the_tasks


@pytest.mark.parametrize(
    ("task", "other"),
    [
        ("sha256:2", failure()),
        (TASK, failure(service="cache")),
        (TASK, failure(ended_with=2)),
        (TASK, failure(ServiceFault.UNHEALTHY, None)),
    ],
)
def test_another_failure_is_no_second_one(task: str, other: ServiceFailed) -> None:
    faults = ServiceFaults()
    faults.met(TASK, failure(), began=0, now=1)
    assert not faults.met(task, other, began=2, now=3).is_the_tasks


def test_a_task_whose_services_were_ready_once_is_not_to_blame() -> None:
    faults = ServiceFaults()
    faults.met(TASK, failure(), began=0, now=1)
    faults.became_ready(TASK)
    assert not faults.met(TASK, failure(), began=2, now=3).is_the_tasks


def test_a_program_that_is_not_there_is_missed_once() -> None:
    assert ServiceFaults().met(TASK, failure(ServiceFault.NO_PROGRAM, None), began=0, now=1).is_the_tasks


def test_what_was_killed_is_never_the_tasks() -> None:
    faults = ServiceFaults()
    for began in (0, 10, 20):
        assert not faults.met(TASK, failure(ServiceFault.KILLED, 137), began=began, now=began + 5).is_the_tasks


@pytest.mark.parametrize(
    ("error", "outcome", "final"),
    [
        (failure(), OutcomeClass.SANDBOX_ERROR, False),
        (failure().again(), OutcomeClass.TASK_INVALID, True),
        (failure(ServiceFault.KILLED, 137).again(), OutcomeClass.SANDBOX_ERROR, False),
    ],
)
def test_the_class_and_what_follows(error: ServiceFailed, outcome: OutcomeClass, final: bool) -> None:
    recorder, policy = PhaseRecorder(SystemClock()), load_policy(CURRENT_POLICY)
    with pytest.raises(PhaseFailed), recorder.phase(Phase.START):
        raise error
    found = classify(policy, recorder.evidence, None)
    assert found.outcome is outcome
    assert dispose(policy, found, tries=0, jitter=0).done is final
    detail = recorder.evidence[0].detail
    assert {name: detail[name] for name in ("service", "service_fault", "service_exit", "repeated")} == {
        "service": "db",
        "service_fault": error.fault.value,
        "service_exit": error.ended_with,
        "repeated": error.repeated,
    }
