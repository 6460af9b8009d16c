"""What takes long to count is not counted for each who asks."""

from __future__ import annotations

import threading

import pytest

from proctor.api.counting import KEPT_TIMES, KEPT_TIMES_STILL, Counted


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Counting:
    """Counts how often it counted, and takes a while for it."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        self._clock.now += self._seconds
        return self.times


def test_a_result_is_good_for_so_many_times_as_long_as_it_took() -> None:
    clock = Clock()
    counted, counting = Counted(clock=clock), Counting(clock, 0.5)
    assert counted.of("a", clock.now, counting) == 1
    clock.now += 0.5 * KEPT_TIMES - 0.01
    assert counted.of("a", clock.now, counting) == 1
    clock.now += 0.02
    assert counted.of("a", clock.now, counting) == 2


def test_where_nothing_happens_a_result_is_good_for_longer() -> None:
    clock = Clock()
    counted, counting = Counted(clock=clock), Counting(clock, 0.5)
    assert counted.of("a", "then", counting) == 1
    clock.now += 0.5 * KEPT_TIMES_STILL - 0.01
    assert counted.of("a", "then", counting) == 1
    assert counted.of("a", "later", counting) == 2
    clock.now += 0.5 * KEPT_TIMES_STILL
    assert counted.of("a", "later", counting) == 3


def test_what_took_no_time_is_counted_each_time_and_each_thing_apart() -> None:
    clock = Clock()
    counted, counting = Counted(clock=clock), Counting(clock, 0.0)
    assert [
        counted.of("a", clock.now, counting),
        counted.of("a", clock.now, counting),
        counted.of("b", clock.now, counting),
    ] == [1, 2, 3]


def test_what_could_not_be_counted_is_raised_and_counted_again() -> None:
    clock = Clock()
    counted, counting = Counted(clock=clock), Counting(clock, 1.0)

    def fails() -> int:
        raise LookupError("gone")

    with pytest.raises(LookupError):
        counted.of("a", 0, fails)
    assert counted.of("a", clock.now, counting) == 1


def test_while_one_counts_anew_others_are_told_what_there_is() -> None:
    clock, begun, go_on = Clock(), threading.Event(), threading.Event()
    counted = Counted(clock=clock)
    counted.of("a", 0, Counting(clock, 1.0))
    clock.now += 1000

    def slowly() -> int:
        begun.set()
        assert go_on.wait(10)
        return 7

    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(counted.of("a", 1, slowly)))
    thread.start()
    assert begun.wait(10)
    assert counted.of("a", 1, slowly) == 1
    go_on.set()
    thread.join(10)
    assert seen == [7]
