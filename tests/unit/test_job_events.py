"""Of which jobs a worker has something to tell, and when."""

from __future__ import annotations

import pytest

from proctor.jobs.events import EVERY_SEC, JobKey, Untold
from proctor.kernel.ids import new_id


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def untold(clock: Clock) -> Untold:
    return Untold(clock)


def test_a_job_is_told_of_once_a_second_and_the_last_of_it_a_little_later(untold: Untold, clock: Clock) -> None:
    job = JobKey(new_id(), new_id())
    assert untold.may_tell(job)
    untold.advanced(job, told=True)
    clock.now += EVERY_SEC / 4
    assert not untold.may_tell(job)
    assert (untold.due(), untold.seconds) == ([], None), "all of it was told"
    untold.advanced(job, told=False)
    assert (untold.due(), untold.all()) == ([], [job])
    assert untold.seconds == pytest.approx(EVERY_SEC * 3 / 4)
    clock.now += EVERY_SEC
    assert (untold.due(), untold.seconds) == ([job], 0)
    untold.advanced(job, told=True)
    assert untold.all() == []


def test_what_another_worker_told_first_is_tried_a_second_later(untold: Untold, clock: Clock) -> None:
    job = JobKey(new_id(), new_id())
    untold.advanced(job, told=False)
    assert (untold.due(), untold.seconds) == ([], EVERY_SEC)
    clock.now += EVERY_SEC
    assert untold.due() == [job]


def test_jobs_do_not_wait_for_one_another(untold: Untold, clock: Clock) -> None:
    tenant = new_id()
    early, late = (JobKey(tenant, new_id()) for _ in range(2))
    untold.advanced(early, told=False)
    clock.now += EVERY_SEC / 2
    assert untold.may_tell(late)
    untold.advanced(late, told=False)
    clock.now += EVERY_SEC / 2
    assert untold.due() == [early]
    assert untold.seconds == 0
