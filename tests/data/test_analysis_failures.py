"""Failures that are alike."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.failures import by_status, by_text

LOG = [
    "TimeoutError: no answer from 10.0.0.7 after 30.5 seconds",
    "KeyError: 'price' in row 17",
    "TimeoutError: no answer from 10.0.0.9 after 31 seconds",
    "TimeoutError: no answer from gateway after 12 seconds",
    "KeyError: 'price' in row 99",
    "assertion failed at 0x7ffe12ab",
]


def test_failures_are_counted_by_status() -> None:
    seen = by_status(["judge_failed", "timeout", "judge_failed"])
    assert [(one.label, one.count, one.examples) for one in seen] == [("judge_failed", 2, (0, 2)), ("timeout", 1, (1,))]
    assert seen[0].share == pytest.approx(2 / 3)
    assert by_status([]) == ()


def test_messages_that_say_the_same_are_one_kind() -> None:
    seen = by_text(LOG)
    assert [(one.label, one.examples) for one in seen] == [(LOG[0], (0, 2, 3)), (LOG[1], (1, 4)), (LOG[5], (5,))]


def test_with_all_words_alike_only_numbers_and_case_may_differ() -> None:
    assert [one.count for one in by_text(LOG, alike=1.0)] == [2, 2, 1, 1]
    assert by_text(["Broken pipe", "broken PIPE"], alike=1.0)[0].count == 2


def test_a_chain_of_near_messages_is_not_one_kind() -> None:
    """Each is like its neighbour, the ends have nothing in common."""
    chain = ["a b c d", "b c d e", "c d e f", "d e f g", "e f g h"]
    assert len(by_text(chain)) > 1
    assert sum(one.count for one in by_text(chain)) == 5


def test_messages_without_words_stand_alone() -> None:
    assert sorted(one.label for one in by_text(["", "!!", "??", "!!"])) == ["", "!!", "??"]


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=30))
def test_every_message_is_in_one_kind(texts: list[str]) -> None:
    seen = by_text(texts)
    assert sum(one.count for one in seen) == len(texts)
    assert sum(one.share for one in seen) == pytest.approx(1.0 if texts else 0.0)
    firsts = [one.examples[0] for one in seen]
    assert len(set(firsts)) == len(firsts)
    assert all(texts[one.examples[0]] == one.label for one in seen)


def test_more_forms_than_are_compared_stand_alone() -> None:
    letters = [f"{chr(97 + i)}{chr(97 + j)}{chr(97 + k)}" for i in range(14) for j in range(14) for k in range(14)]
    seen = by_text([f"boom {word}" for word in letters] + ["boom aaa"], alike=0.3)
    assert seen[0].count == 2_001
    assert len(seen) == 1 + len(letters) - 2_000


@pytest.mark.parametrize("alike", [0.0, 1.5, float("nan")])
def test_what_is_no_share_is_refused(alike: float) -> None:
    with pytest.raises(ScoresInvalid):
        by_text(["a"], alike=alike)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["lost 1", "lost 22", "Lost 3", "no such file", "it is full"]), min_size=1))
def test_messages_with_counts_are_the_kinds_that_they_are_one_by_one(texts: list[str]) -> None:
    counted = Counter(texts)
    given_once = by_text(list(counted), counts=list(counted.values()))
    assert sorted((one.count, one.share) for one in given_once) == sorted(
        (one.count, one.share) for one in by_text(texts)
    )


@pytest.mark.parametrize("counts", [[1], [1, 0], [1, 1, 1]])
def test_a_count_for_each_message_is_needed(counts: list[int]) -> None:
    with pytest.raises(ScoresInvalid, match="once or more"):
        by_text(["a", "b"], counts=counts)
