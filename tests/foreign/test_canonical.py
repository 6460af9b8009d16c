"""Canonical JSON, byte for byte as another implementation of RFC 8785 writes it."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.kernel.canonical import Json, canonical_json
from tests.foreign.conftest import Ask
from tests.foreign.environments import JCS

EXACT: int = 2**53 - 1
"""The largest integer that every JSON reader agrees on."""

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = (
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=30)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(DOCUMENTS, min_size=20, max_size=60))
def test_made_up_documents(ask: Ask, documents: list[Json]) -> None:
    theirs = ask(JCS, "canonical", documents)
    assert [canonical_json(document).decode() for document in documents] == theirs


def test_numbers_and_keys_that_others_get_wrong(ask: Ask) -> None:
    numbers: list[Json] = [0.0, -0.0, 1.0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740991, 0.1 + 0.2]
    keys: Json = {"\U0001f600": 1, "\ufb33": 2, "\u20ac": 3, "\r": 4, "1": 5, "\u0080": 6, "\u00f6": 7, "</script>": 8}
    documents: list[Json] = [numbers, keys, '\u2028\u0007"\\', {"": {"": []}}]
    theirs = ask(JCS, "canonical", documents)
    assert [canonical_json(document).decode() for document in documents] == theirs
    assert all(json.loads(one) is not None for one in theirs)
