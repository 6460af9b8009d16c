"""To what a month will come, from the days that were."""

from __future__ import annotations

from proctor.engine.spend.forecasts import forecast


def test_days_that_are_all_alike_leave_no_doubt() -> None:
    found = forecast([10] * 14, before=70, today=4, left=24)
    assert (found.low_nano, found.expected_nano, found.high_nano) == (310, 310, 310)


def test_the_band_holds_what_is_expected_and_is_wider_for_days_that_differ() -> None:
    calm = forecast([90, 100, 110] * 9, before=0, today=0, left=20)
    wild = forecast([0, 0, 300] * 9, before=0, today=0, left=20)
    for found in (calm, wild):
        assert found.low_nano < found.expected_nano < found.high_nano
        assert abs(found.expected_nano - 2_000) < 200
    assert wild.high_nano - wild.low_nano > 5 * (calm.high_nano - calm.low_nano)


def test_fewer_days_tell_less() -> None:
    few, many = (forecast([50, 150] * pairs, before=0, today=0, left=20) for pairs in (4, 14))
    assert few.high_nano - few.low_nano > many.high_nano - many.low_nano


def test_what_today_has_cost_is_never_taken_back() -> None:
    found = forecast([10] * 7, before=100, today=500, left=1)
    assert found.low_nano == found.high_nano == 600


def test_the_same_days_give_the_same_forecast() -> None:
    assert forecast([1, 2, 3, 4, 5, 6, 7], 0, 0, 9) == forecast([1, 2, 3, 4, 5, 6, 7], 0, 0, 9)
