"""Ids that are derived: the same from the same, and in their place by time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from proctor.kernel.ids import dated_id, derived_id, new_id


def test_an_id_of_a_moment_that_was_sorts_by_it_among_new_ones() -> None:
    now = datetime.now(UTC)
    before, after = (dated_id(now + timedelta(minutes=by), "call", 1) for by in (-1, 1))
    assert before < new_id() < after
    assert (before.version, before.variant) == (7, new_id().variant)


def test_the_same_parts_have_the_same_id_and_others_another() -> None:
    now = datetime.now(UTC)
    assert dated_id(now, "call", "a", 1) == dated_id(now, "call", "a", 1) != dated_id(now, "call", "a", 2)
    assert derived_id("call", "a", 1) == derived_id("call", "a", 1) != derived_id("call", "a1")
