"""Identity: what makes results results of the same thing, and what does not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from uuid import UUID

import pytest

from proctor.engine.identity import ConfigurationParts, attempt_id, cell_id, configuration_document
from proctor.kernel.canonical import canonical_json, digest
from proctor.kernel.ids import derived_id, new_id
from proctor.kernel.money import exact_usd, format_usd, parse_usd

TENANT = UUID(int=1)
PARTS = ConfigurationParts(
    agent="noop",
    agent_version="1",
    layer_digest=None,
    model=None,
    thinking=None,
    variant=None,
    policies={"network": "task"},
    backend="local",
    environment={"os": "x"},
)


def test_a_configuration_hash_is_sha256_of_rfc8785() -> None:
    found, document = configuration_document(PARTS)
    assert found == hashlib.sha256(canonical_json(document)).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"agent_version": "2"},
        {"layer_digest": "d"},
        {"model": "m"},
        {"thinking": "high"},
        {"variant": "v"},
        {"sampling": {"temperature": 0.5}},
        {"fallbacks": ("x",)},
        {"options": {"command": "ls"}},
        {"policies": {"network": "public"}},
        {"backend": "docker"},
        {"environment": {"os": "y"}},
        {"fault_plan": {"digest": "d", "entries": []}},
        {"origin": "import:abc"},
    ],
)
def test_everything_that_can_change_a_result_changes_the_hash(change: dict[str, object]) -> None:
    assert configuration_document(replace(PARTS, **change))[0] != configuration_document(PARTS)[0]


def test_ids_are_the_same_for_the_same_and_differ_for_any_part() -> None:
    ids = {
        cell_id(TENANT, "c", "a", "v", 1),
        cell_id(TENANT, "c", "a", "v", 2),
        cell_id(TENANT, "c", "a", "w", 1),
        cell_id(TENANT, "c", "b", "v", 1),
        cell_id(TENANT, "d", "a", "v", 1),
        cell_id(UUID(int=2), "c", "a", "v", 1),
        attempt_id(TENANT, UUID(int=3), 1),
    }
    assert len(ids) == 7
    assert cell_id(TENANT, "c", "a", "v", 1) in ids


def test_parts_do_not_run_together() -> None:
    assert derived_id("k", "ab", "c") != derived_id("k", "a", "bc")


def test_ids_are_proper_uuids() -> None:
    assert (derived_id("x").version, derived_id("x").variant) == (8, new_id().variant)
    assert new_id().version == 7
    assert sorted([first := new_id(), new_id()])[0].int >> 80 == first.int >> 80


def test_canonical_json_refuses_what_json_has_no_form_for() -> None:
    with pytest.raises(ValueError, match="."):
        digest(float("nan"))


@pytest.mark.parametrize(("text", "nano"), [("25 USD", 25_000_000_000), ("$0.10", 100_000_000), ("3", 3_000_000_000)])
def test_money_is_whole_nano_dollars(text: str, nano: int) -> None:
    assert parse_usd(text) == nano


@pytest.mark.parametrize("text", ["", "-1", "1 EUR", "1e3", "0.0000000001"])
def test_other_amounts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        parse_usd(text)


def test_money_for_a_reader() -> None:
    exact = ["—", "0.00 USD", "0.000000001 USD", "0.0025 USD", "1,250.50 USD"]
    assert [exact_usd(n) for n in (None, 0, 1, 2_500_000, 1_250_500_000_000)] == exact
    assert [format_usd(n) for n in (None, 0, 1, 41_200_000_000)] == ["—", "0.00 USD", "<0.01 USD", "41.20 USD"]
