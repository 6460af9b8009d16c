"""How fast an error budget burns, by hand; and when that is too fast, however few attempts there were."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from proctor.health.objective import WINDOWS, Burn, alert_of, burn_rate

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("attempts", "lost", "objective", "wanted"),
    [
        (1000, 3, 0.99, 0.3),
        (1000, 10, 0.99, 1.0),
        (100, 100, 0.99, 100.0),
        (1000, 0, 0.99, 0.0),
        (2000, 1, 0.999, 0.5),
        (0, 0, 0.99, None),
    ],
)
def test_a_rate_is_the_lost_share_by_the_allowed_share(
    attempts: int, lost: int, objective: float, wanted: float | None
) -> None:
    assert burn_rate(attempts, lost, objective) == (wanted if wanted is None else pytest.approx(wanted))


def burns(**counts: tuple[int, int]) -> dict[str, Burn]:
    """Lost of attempts by window, ``w1h=(3, 100)``; a window that is not named had no attempts."""
    found = {}
    for name, span in WINDOWS.items():
        lost, attempts = counts.get(f"w{name}", (0, 0))
        found[name] = Burn(
            since=NOW - span,
            until=NOW,
            sampled_sec=span.total_seconds(),
            attempts=attempts,
            lost=lost,
            rate=burn_rate(attempts, lost, 0.99),
        )
    return found


FAST = {"w10m": (5, 20), "w30m": (15, 100), "w1h": (20, 100), "w6h": (20, 400), "w3d": (20, 4000)}


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        (FAST, "1h"),
        ({**FAST, "w10m": (0, 20)}, None),
        ({**FAST, "w10m": (0, 0)}, None),
        ({"w10m": (1, 3), "w1h": (1, 3), "w30m": (1, 3), "w6h": (1, 3), "w3d": (1, 3)}, None),
        (dict.fromkeys(FAST, (2, 12)), None),
        (dict.fromkeys(FAST, (3, 19)), None),
        (dict.fromkeys(FAST, (3, 20)), "1h"),
        (dict.fromkeys(FAST, (2, 20)), None),
        ({**FAST, "w1h": (14, 100), "w30m": (6, 100), "w6h": (24, 400)}, "6h"),
        ({"w6h": (4, 400), "w3d": (40, 4000)}, "3d"),
        ({"w6h": (3, 400), "w3d": (40, 4000)}, None),
        ({}, None),
    ],
    ids=[
        "in the hour and still",
        "in the hour, and over",
        "in the hour, and nothing ended since",
        "one of three",
        "two of twelve",
        "three of nineteen",
        "three of twenty",
        "two of twenty",
        "over six hours",
        "slowly for days",
        "slowly, and less of late",
        "nothing ended",
    ],
)
def test_too_fast_is_said_of_two_windows_and_of_enough_attempts(
    counts: dict[str, tuple[int, int]], wanted: str | None
) -> None:
    alert = alert_of(burns(**counts))
    assert (alert and alert.window) == wanted


def test_an_alert_says_both_of_its_windows() -> None:
    alert = alert_of(burns(**FAST))
    assert alert is not None
    assert (alert.short_window, alert.threshold) == ("10m", 14.4)
    assert (alert.burn.lost, alert.burn.attempts, alert.short_burn.attempts) == (20, 100, 20)
    assert alert.burn.rate == pytest.approx(20)
