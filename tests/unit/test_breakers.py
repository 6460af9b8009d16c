"""The smallest scope that explains failures, from known answers; and what no agent or task can close."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.engine.breakers import Ends, Kind, Scope, blame_of, explain, registries_that_worked, told, troubled
from proctor.engine.evidence import Evidence, Phase
from proctor.engine.outcomes import Outcome, OutcomeClass, Owner
from proctor.kernel.canonical import Json
from proctor.kernel.ids import derived_id

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUN_SET = derived_id("run-set", "one")
HUB = Scope(kind=Kind.REGISTRY, name="docker.io")
NODE = Scope(kind=Kind.NODE, name="h1")


def ends(attempts: int, blame: Kind = Kind.NOBODY, **fields: Any) -> Ends:
    words = {Kind.REGISTRY: "image_error", Kind.NODE: "sandbox_error", Kind.PROVIDER: "provider_auth"}
    words |= {Kind.RUN_SET: "harness_error", Kind.LOSS: "node_lost"}
    known = {"provider": "acme", "registry": "docker.io", "node": "h1", "task": "t", "several": True}
    outcome = words.get(blame, "passed")
    return Ends(run_set=RUN_SET, blame=blame, attempts=attempts, **{"outcome": outcome, **known, **fields})


def closed(*recent: Ends, in_a_row: int = 0) -> Scope | None:
    """What the first of them closes."""
    return explain(recent[0], recent, {HUB: in_a_row} if in_a_row else {})


def test_the_tenth_failure_of_a_registry_closes_it_and_not_the_ninth() -> None:
    assert closed(ends(9, Kind.REGISTRY)) is None
    assert closed(ends(10, Kind.REGISTRY)) == HUB


def test_a_share_is_above_a_fifth_of_at_least_ten() -> None:
    assert closed(ends(2, Kind.REGISTRY), ends(8)) is None
    assert closed(ends(3, Kind.REGISTRY), ends(7)) == HUB


def test_ten_in_a_row_close_it_whatever_went_well_before() -> None:
    assert closed(ends(10, Kind.REGISTRY), ends(1000), in_a_row=9) is None
    assert closed(ends(10, Kind.REGISTRY), ends(1000), in_a_row=10) == HUB


def test_a_registry_that_works_on_other_nodes_is_not_what_fails() -> None:
    assert closed(ends(10, Kind.REGISTRY), ends(5, node="h2")) == NODE
    assert closed(ends(10, Kind.REGISTRY), ends(5, node="h2", registry="")) == HUB
    assert closed(ends(10, Kind.REGISTRY), ends(10, Kind.REGISTRY, node="h2"), ends(5, node="h2")) == HUB


def test_a_node_is_blamed_for_images_only_where_several_registries_fail() -> None:
    assert closed(ends(8, Kind.REGISTRY), ends(8, registry="ghcr.io")) is None
    assert closed(ends(8, Kind.REGISTRY), ends(8, Kind.REGISTRY, registry="ghcr.io")) == NODE


def test_images_that_were_here_say_nothing_for_a_registry() -> None:
    assert closed(ends(10, Kind.REGISTRY), ends(500, registry="")) == HUB


def test_a_node_is_closed_for_several_tasks_and_never_for_one() -> None:
    assert closed(ends(50, Kind.NODE, several=False)) is None
    assert closed(ends(50, Kind.NODE, several=False), ends(1, Kind.NODE, several=False, task="u")) == NODE


def test_a_few_tasks_that_fail_where_more_others_work_close_no_node_and_pause_nothing() -> None:
    few, many = frozenset({"t", "u"}), frozenset("abcdefghij")
    works = ends(5, tasks=frozenset("xyz"), task="x")
    assert closed(ends(50, Kind.NODE, tasks=few), works) is None
    assert troubled(RUN_SET, [ends(50, Kind.NODE, tasks=few), works]) is None
    assert closed(ends(50, Kind.NODE, tasks=few), ends(5, tasks=frozenset("xt"), task="x")) == NODE
    assert closed(ends(50, Kind.NODE, tasks=few), ends(5, tasks=frozenset("xyz"), task="x", node="h2")) == NODE
    assert closed(ends(50, Kind.NODE, tasks=few), ends(5, outcome="task_invalid", tasks=frozenset("xyz"))) == NODE
    assert closed(ends(50, Kind.NODE, tasks=many, task="a"), ends(5, tasks=frozenset(map(str, range(50))))) == NODE


def test_a_providers_failures_close_the_provider_alone() -> None:
    assert closed(ends(10, Kind.PROVIDER)) == Scope(kind=Kind.PROVIDER, name="acme")
    assert troubled(RUN_SET, [ends(10, Kind.PROVIDER)]) is None


def test_a_run_set_is_troubled_by_what_nothing_smaller_explains() -> None:
    assert troubled(RUN_SET, [ends(3, Kind.RUN_SET), ends(7)]) == {"harness_error": 3}
    assert troubled(RUN_SET, [ends(2, Kind.RUN_SET), ends(8)]) is None
    assert troubled(RUN_SET, [ends(100, Kind.RUN_SET, several=False)]) is None
    assert troubled(derived_id("run-set", "other"), [ends(50, Kind.RUN_SET)]) is None


def test_a_run_set_is_not_paused_for_what_a_smaller_scope_may_yet_explain() -> None:
    few = ends(8, Kind.REGISTRY, registry="ghcr.io")
    assert troubled(RUN_SET, [few, ends(8)]) is None
    assert troubled(RUN_SET, [few, ends(8), ends(8, registry="ghcr.io")]) == {"image_error": 8}


def test_sandboxes_lost_in_a_moment_pause_nothing_and_those_that_go_on_do() -> None:
    assert troubled(RUN_SET, [ends(50, Kind.LOSS)]) is None
    assert troubled(RUN_SET, [ends(50, Kind.LOSS, lasted_sec=120.0)]) == {"node_lost": 50}


def test_class_counts_are_told_with_the_most_first() -> None:
    assert told({"sandbox_error": 2, "image_error": 1200}) == "image_error 1,200, sandbox_error 2"


# --- whom an end may be laid on ---------------------------------------------------------------------------------------

BLAMES: list[tuple[str, Owner, Phase, Mapping[str, Json], Kind]] = [
    ("provider_rate_limit", Owner.PROVIDER, Phase.AGENT, {"http_status": 429}, Kind.PROVIDER),
    ("image_error", Owner.INFRASTRUCTURE, Phase.IMAGE, {"registry": "docker.io"}, Kind.REGISTRY),
    ("image_error", Owner.INFRASTRUCTURE, Phase.IMAGE, {"http_status": 404}, Kind.RUN_SET),
    ("sandbox_error", Owner.INFRASTRUCTURE, Phase.START, {}, Kind.NODE),
    ("agent_setup_error", Owner.INFRASTRUCTURE, Phase.AGENT_SETUP, {}, Kind.NODE),
    ("sandbox_error", Owner.INFRASTRUCTURE, Phase.AGENT, {}, Kind.LOSS),
    ("node_lost", Owner.INFRASTRUCTURE, Phase.AGENT, {"kube_reason": "Evicted"}, Kind.LOSS),
    ("harness_error", Owner.INFRASTRUCTURE, Phase.PREPARE, {}, Kind.RUN_SET),
    ("out_of_memory", Owner.INFRASTRUCTURE, Phase.AGENT, {"oom": True}, Kind.NOBODY),
    ("sandbox_error", Owner.INFRASTRUCTURE, Phase.START, {"fault": "plan 1, entry 1"}, Kind.NOBODY),
    ("provider_rate_limit", Owner.PROVIDER, Phase.AGENT, {"fault": "plan 1, entry 2"}, Kind.PROVIDER),
    ("sandbox_error", Owner.INFRASTRUCTURE, Phase.START, {"service_fault": "unhealthy"}, Kind.NOBODY),
    ("sandbox_error", Owner.INFRASTRUCTURE, Phase.VERIFY, {"service_fault": "killed"}, Kind.NOBODY),
    ("task_invalid", Owner.TASK, Phase.PREPARE, {}, Kind.NOBODY),
    ("failed", Owner.MODEL, Phase.VERIFY, {}, Kind.NOBODY),
]


@pytest.mark.parametrize(("name", "owner", "phase", "detail", "blame"), BLAMES)
def test_whom_an_end_may_be_laid_on(
    name: str, owner: Owner, phase: Phase, detail: Mapping[str, Json], blame: Kind
) -> None:
    outcome = Outcome(outcome=OutcomeClass(name), owner=owner, rule="r", verdict=None)
    assert blame_of(outcome, [evidence(phase, {"failed": True, **detail})]) is blame


def test_only_a_registry_that_was_asked_has_worked() -> None:
    assert registries_that_worked([evidence(Phase.IMAGE, {"asked": ["ghcr.io"]})]) == ["ghcr.io"]
    assert registries_that_worked([evidence(Phase.IMAGE, {"image": "host"})]) == []
    assert registries_that_worked([evidence(Phase.AGENT, {"asked": ["ghcr.io"]})]) == []


def test_a_providers_name_is_its_key_and_no_other_scope_can_have_it() -> None:
    assert Scope(kind=Kind.PROVIDER, name="registry").key == "registry"
    assert HUB.key == "registry/docker.io"


def evidence(phase: Phase, detail: Mapping[str, Json]) -> Evidence:
    return Evidence(phase=phase, seq=1, started_at=NOW, ended_at=NOW, detail=detail)
