"""How long a cell is expected to take."""

from __future__ import annotations

from proctor.engine.durations import Measured

MEASURED = Measured({("a", "t"): [10.0, 900.0, 12.0], ("b", "t"): [50.0], ("b", "u"): [7.0], ("a", "none"): []})


def test_the_median_of_its_own_attempts_is_not_moved_by_one_that_hung() -> None:
    assert MEASURED.expected("a", "t", 3600) == 12


def test_others_speak_for_a_configuration_that_never_ran_the_task() -> None:
    assert MEASURED.expected("a", "u", 3600) == 7
    assert MEASURED.expected("new", "t", 3600) == 31


def test_what_nobody_ran_may_take_its_limit() -> None:
    assert MEASURED.expected("a", "v", 3600) == 3600
    assert MEASURED.expected("a", "none", 60) == 60
