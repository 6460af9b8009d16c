"""New scores against a base."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.multiple import holm
from proctor.analysis.paired import compare
from proctor.analysis.regressions import Finding, Scored, against_base

ITEMS = [f"item {place:03}" for place in range(60)]
BASE = np.array([1.0] * 40 + [0.0] * 20)


def scored(scores: object, items: list[str] = ITEMS, **more: object) -> Scored:
    return Scored(items=items, scores=scores, **more)  # type: ignore[arg-type]


def test_items_are_matched_by_name_and_the_rest_is_counted() -> None:
    seen = against_base(scored([1, 0, 1], ["a", "b", "c"]), scored([0, 1, 1], ["c", "a", "x"]))
    assert (seen.only_base, seen.only_new) == (1, 1)
    assert seen.overall.difference.items == 2
    assert [(one.item, one.base, one.new) for one in seen.worse] == [("c", 1.0, 0.0)]
    assert seen.better == ()


def test_a_drop_is_worse_and_a_gain_is_better() -> None:
    lower = BASE.copy()
    lower[:12] = 0
    worse = against_base(scored(BASE), scored(lower))
    assert worse.overall.finding is Finding.WORSE
    assert worse.overall.difference == compare(lower, BASE)
    assert len(worse.worse) == 12
    better = against_base(scored(lower), scored(BASE))
    assert better.overall.finding is Finding.BETTER


def test_no_worse_by_the_margin_is_a_claim_and_not_the_lack_of_one() -> None:
    moved = BASE.copy()
    moved[0], moved[59] = 0, 1
    assert against_base(scored(BASE), scored(moved)).overall.finding is Finding.OPEN
    assert against_base(scored(BASE), scored(moved), margin=0.1).overall.finding is Finding.NO_WORSE
    few = against_base(scored(BASE[:3], ITEMS[:3]), scored([0, 1, 1], ITEMS[:3]), margin=0.1)
    assert few.overall.finding is Finding.OPEN


def test_segments_are_corrected_together_and_the_overall_is_not_among_them() -> None:
    lower = BASE.copy()
    lower[:9] = 0
    members = {"first": np.arange(60) < 20, "last": np.arange(60) >= 40, "one": np.arange(60) == 5}
    seen = against_base(scored(BASE, members=members), scored(lower))
    assert [one.segment for one in seen.segments] == ["first", "last"]
    assert [one.p_adjusted for one in seen.segments] == holm([one.difference.test.p for one in seen.segments])
    assert [one.finding for one in seen.segments] == [Finding.WORSE, Finding.OPEN]
    assert seen.overall.p_adjusted == seen.overall.difference.test.p


def test_clusters_and_members_go_with_the_base_items_wherever_the_new_ones_stand() -> None:
    order = np.random.default_rng(4).permutation(60)
    lower = np.linspace(0, 1, 60)
    clusters = np.arange(60) // 6
    members = {"early": np.arange(60) < 30}
    straight = against_base(scored(BASE, clusters=clusters, members=members), scored(lower))
    shuffled = against_base(
        scored(BASE, clusters=clusters, members=members), scored(lower[order], [ITEMS[place] for place in order])
    )
    assert straight == shuffled
    assert straight.overall.difference.clusters == 10
    assert straight.segments[0].difference.clusters == 5


def test_only_the_largest_drops_are_named() -> None:
    items = [str(place) for place in range(300)]
    seen = against_base(scored(np.linspace(1, 2, 300), items), scored(np.zeros(300), items))
    assert len(seen.worse) == 100
    assert seen.worse[0].base == 2.0


def test_nothing_in_common_is_no_comparison() -> None:
    with pytest.raises(StatisticUndefined):
        against_base(scored([1], ["a"]), scored([1], ["b"]))
    with pytest.raises(StatisticUndefined):
        against_base(scored([1, 1], ["a", "b"]), scored([1], ["b"]))
    for refused in (
        lambda: against_base(scored([1], ["a", "b"]), scored([1], ["a"])),
        lambda: against_base(scored([1], ["a"]), scored([1], ["a", "b"])),
        lambda: against_base(scored(BASE), scored(BASE), margin=-1),
        lambda: against_base(scored(BASE), scored(BASE), alpha=1),
    ):
        with pytest.raises(ScoresInvalid):
            refused()
