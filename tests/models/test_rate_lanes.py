"""What a bucket gives, what headers teach, and how many requests a key bears at once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.models.ports import RateLimit
from proctor.models.rates.buckets import KeyName, Level, full, share
from proctor.models.rates.headers import left_of, retry_after
from proctor.models.rates.lanes import Lane

NOW = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)


def lane() -> Lane:
    return Lane(key=KeyName(owner="t", provider="openai", key="default"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 01 Dec 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "86400"}, 3600.0),
    ],
)
def test_when_to_come_back_is_read_in_every_form(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    "value", ["", "-1", "0", "nan", "inf", "1e9", "9" * 80, "soon", "Tue, 01 Dec 2020 12:00:00 GMT", "\ud800", "٣"]
)
def test_a_time_that_is_none_is_passed_over(value: str) -> None:
    assert retry_after({"retry-after": value}, NOW) is None
    assert left_of({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": value}, NOW).rest_sec is None
    assert retry_after(None) is None


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [("1s", 1.0), ("6m0s", 360.0), ("20ms", 0.02), ("1h2m3.5s", 3600.0), ("12", 12.0), ("1m2s", 62)],
)
def test_a_key_without_requests_rests_until_it_has_some(reset: str, seconds: float) -> None:
    left = left_of({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset}, NOW)
    assert (left.requests, left.rest_sec) == (0, pytest.approx(seconds))


def test_anthropics_words_are_known_too() -> None:
    headers = {
        "anthropic-ratelimit-requests-remaining": "3",
        "anthropic-ratelimit-requests-reset": "2026-12-01T12:00:05Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": "2026-12-01T12:00:40Z",
        "anthropic-ratelimit-output-tokens-remaining": "500",
    }
    left = left_of(headers, NOW)
    assert (left.requests, left.tokens, left.rest_sec) == (3, 0, 40.0)


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"]), st.text()
    )
)
def test_no_header_raises(headers: dict[str, str]) -> None:
    retry_after(headers, NOW)
    left_of(headers, NOW)


@given(
    limit=st.builds(
        RateLimit, requests=st.none() | st.integers(1, 10_000), tokens=st.none() | st.integers(1, 10_000_000)
    ),
    asks=st.lists(st.tuples(st.floats(0, 3), st.integers(1, 200_000)), min_size=1, max_size=60),
)
def test_no_minute_gives_more_than_the_limit_and_a_full_bucket(limit: RateLimit, asks: list[tuple[float, int]]) -> None:
    level, elapsed, requests, tokens = full(limit), 0.0, 0, 0.0
    before = full(limit)
    for pause, wanted in asks:
        level, grant = share(level, pause, limit, wanted)
        elapsed += pause
        requests += grant.requests
        tokens += grant.tokens
        if limit.requests is not None:
            assert requests <= before.requests + limit.requests * elapsed / 60 + 1e-6
        if limit.tokens is not None and all(want <= before.tokens for _, want in asks):
            assert tokens <= before.tokens + limit.tokens * elapsed / 60 + 1e-3


def test_a_request_larger_than_a_bucket_goes_when_it_is_full_and_is_paid_for_after() -> None:
    limit = RateLimit(tokens=600)
    level, grant = share(full(limit), 0, limit, 1000)
    assert (grant.requests, grant.tokens, level.tokens) == (1, 1000, 80 - 1000)
    _, later = share(level, 0, limit, 1)
    assert later.wait_sec == pytest.approx((920 + 1) / 10)


def test_an_empty_bucket_says_when_there_will_be_some() -> None:
    limit = RateLimit(requests=60)
    _, grant = share(Level(requests=0.25, tokens=0), 0, limit, 10)
    assert (grant.requests, grant.wait_sec) == (0, pytest.approx(0.75))


def test_a_throttled_key_rests_bears_half_and_learns_to_bear_more() -> None:
    one = lane()
    for _ in range(8):
        one.take(1, metered=False)
    assert one.refused(5.0, now=100.0) == 5.0
    assert (one.at_once, one.running) == (4, 7)
    one.refused(5.0, now=101.0)
    assert one.at_once == 4, "one that was under way with it says nothing new"
    assert not one.may_start(104.9)
    for _ in range(6):
        one.ended(0)
    assert one.at_once == 5, "four without trouble"
    assert one.may_start(106.0)


def test_a_key_never_bears_less_than_one_and_rests_longer_each_time() -> None:
    one, now, pauses = lane(), 0.0, []
    for _ in range(8):
        one.take(1, metered=False)
        pauses.append(one.refused(None, now))
        now = one.rests_until
    assert one.at_once == 1
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
