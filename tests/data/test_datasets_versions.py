"""Labels, references and splits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.errors import DatasetNameInvalid, SplitInvalid, VersionInvalid
from proctor.datasets.references import Named, check_name, id_prefix, named
from proctor.datasets.splits import WHOLE, cut
from proctor.datasets.versions import check_label, next_label

NOW = datetime(2026, 12, 1, 11, 25, 7, tzinfo=timezone(timedelta(hours=1)))


def test_the_next_minor_follows_the_highest_version() -> None:
    assert next_label(None, [], NOW) == "1.0.0"
    assert next_label(None, ["20261201T000000Z"], NOW) == "1.0.0"
    assert next_label(None, ["1.9.0", "1.10.3", "20261201T000000Z"], NOW) == "1.11.0"
    assert next_label(None, ["2.0.0", "1.99.0"], NOW) == "2.1.0"
    assert next_label("timestamp", ["1.0.0"], NOW) == "20261201T102507Z"
    assert next_label("7.1.2", ["1.0.0"], NOW) == "7.1.2"


@pytest.mark.parametrize("label", ["1.2.3", "0.0.0", "999999999.0.1", "20261201T102507Z"])
def test_a_label_is_semantic_or_a_moment(label: str) -> None:
    check_label(label)


@pytest.mark.parametrize(
    "label", ["", "1.2", "01.2.3", "1.2.3-rc1", "v1.2.3", "latest", "20261301T000000Z", "1.2.3\n", "1٣.0.0"]
)
def test_no_other_word_is_a_label(label: str) -> None:
    with pytest.raises(VersionInvalid):
        check_label(label)
    with pytest.raises(VersionInvalid):
        next_label(label, [], datetime.now(UTC))


def test_a_reference_names_a_dataset_a_version_or_the_newest() -> None:
    assert named("qa") == named("qa@latest") == Named(dataset="qa", version=None)
    assert named("qa@1.2.0") == Named(dataset="qa", version="1.2.0")
    assert id_prefix("0198c2f0-5e1a") == "0198c2f05e1a"
    assert id_prefix("0198c2f") is None
    assert id_prefix("qa") is None


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a@b", ".a", "x" * 101, "0198c2f0", "deadbeef", "é", "a\n"])
def test_a_name_can_be_told_from_ids_and_paths(name: str) -> None:
    with pytest.raises(DatasetNameInvalid):
        check_name(name)


@given(st.text(min_size=1), st.integers(0, 2**63 - 1))
def test_an_example_is_in_exactly_one_of_splits_that_are_the_whole(example_id: str, seed: int) -> None:
    splits = cut({"train": 0.7, "validation": 0.2, "test": 0.1}, seed)
    assert (splits[0].low_ppm, splits[-1].high_ppm) == (0, WHOLE)
    encodable = example_id.encode("utf-8", "ignore").decode()
    assert sum(split.holds(encodable) for split in splits) == 1


def test_a_split_has_its_share_and_another_seed_another_one() -> None:
    ids = [f"example-{number}" for number in range(10_000)]
    (one,), (other,) = cut({"test": 0.2}, 1), cut({"test": 0.2}, 2)
    held, others = ({identity for identity in ids if split.holds(identity)} for split in (one, other))
    assert abs(len(held) - 2000) < 200  # five standard deviations of a binomial
    assert held != others
    assert len(held & others) < 600


@pytest.mark.parametrize(
    "shares",
    [
        {},
        {"a": 0},
        {"a": -0.1},
        {"a": 1.1},
        {"a": 0.6, "b": 0.5},
        {"a": 1e-9},
        {"a b": 0.5},
        {"a": float("nan")},
    ],
)
def test_shares_that_are_none_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(SplitInvalid):
        cut(shares, 0)
