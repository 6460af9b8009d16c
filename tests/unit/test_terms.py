"""Terms: what a task says or the run set overrides, and what is refused by name instead of dropped in silence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proctor.engine.phases import TaskUnsupported
from proctor.engine.spec import Policy
from proctor.engine.terms import declared, expected_sec, needed, refuse_unsupported, requested, terms_of
from proctor.headroom import UNNAMED, Need
from proctor.kernel.canonical import Json
from proctor.sandboxes.fake import FakeBackend
from proctor.sandboxes.interfaces import Capabilities, Limits, Network, Reach
from proctor.suites.services import Composed, Service
from proctor.suites.tasks import (
    AgentSettings,
    CollectHook,
    Environment,
    McpServer,
    NetworkMode,
    NetworkPolicy,
    Step,
    Task,
    Userland,
    VerificationMode,
    Verifier,
)

PUBLIC = NetworkPolicy(mode=NetworkMode.PUBLIC)
VERIFIER = Verifier(mode=VerificationMode.SNAPSHOT)
TASK = Task(
    name="t",
    instruction="Do.",
    agent=AgentSettings(timeout_sec=30.0),
    environment=Environment(memory_mb=512, storage_mb=100, cpus=1.0),
    verifier=VERIFIER,
    userland=Userland(),
)


def configuration(**policies: object) -> dict[str, Json]:
    return {"policies": Policy.model_validate(policies).model_dump(mode="json")}


def test_a_tasks_own_terms() -> None:
    terms = terms_of(TASK, configuration())
    assert (terms.agent_timeout_sec, terms.verifier_timeout_sec, terms.reach.network) == (30.0, 600.0, Network.NONE)
    assert terms.limits == Limits(memory_mb=512, disk_mb=100, cpus=1.0)
    assert terms.mode is VerificationMode.SNAPSHOT


def test_overrides() -> None:
    terms = terms_of(
        TASK,
        configuration(
            agent_timeout=5,
            verifier_timeout=6,
            resources={"memory_mb": 64},
            network="public",
            verification="live",
        ),
    )
    assert (terms.agent_timeout_sec, terms.verifier_timeout_sec, terms.reach.network) == (5.0, 6.0, Network.PUBLIC)
    assert terms.limits == Limits(memory_mb=64, disk_mb=100, cpus=1.0)
    assert terms.mode is VerificationMode.LIVE


STEP = Step(name="s", instruction="Do.", agent=AgentSettings(), verifier=VERIFIER)
HOOK = CollectHook(command="c", service="main", timeout_sec=1)
REFUSED: list[tuple[Task, str]] = [
    (replace(TASK, userland=None), "environment"),
    (replace(TASK, environment=Environment(gpus=1)), "environment.gpus"),
    (replace(TASK, environment=Environment(network=PUBLIC)), "environment.network_mode"),
    (replace(TASK, agent=AgentSettings(user="root")), "agent.user"),
    (replace(TASK, verifier=replace(VERIFIER, user="1000")), "verifier.user"),
    (replace(TASK, agent=AgentSettings(network=PUBLIC)), "agent.network_mode"),
    (replace(TASK, verifier=replace(VERIFIER, network=PUBLIC)), "verifier.network_mode"),
    (
        replace(TASK, verifier=replace(VERIFIER, collect=(HOOK, replace(HOOK, service="db")))),
        "verifier.collect[1].service",
    ),
    (replace(TASK, verifier=replace(VERIFIER, collect=(replace(HOOK, user="root"),))), "verifier.collect[0].user"),
    (
        replace(TASK, verifier=replace(VERIFIER, environment=Environment(docker_image="i"))),
        "verifier.environment",
    ),
    (replace(TASK, steps=(STEP, replace(STEP, agent=AgentSettings(user="root")))), "steps[1].agent.user"),
    (replace(TASK, steps=(replace(STEP, agent=AgentSettings(network=PUBLIC)),)), "steps[0].agent.network_mode"),
    (replace(TASK, steps=(replace(STEP, verifier=replace(VERIFIER, user="0")),)), "steps[0].verifier.user"),
    (
        replace(TASK, steps=(replace(STEP, verifier=replace(VERIFIER, network=PUBLIC)),)),
        "steps[0].verifier.network_mode",
    ),
    (
        replace(TASK, steps=(replace(STEP, verifier=replace(VERIFIER, environment=Environment(dockerfile=True))),)),
        "steps[0].verifier.environment",
    ),
]


@pytest.mark.parametrize(("task", "field"), REFUSED, ids=[field for _, field in REFUSED])
def test_what_can_t_be_had_is_refused_by_name(task: Task, field: str) -> None:
    with pytest.raises(TaskUnsupported) as caught:
        refuse_unsupported(task, configuration(), FakeBackend())
    assert caught.value.where == f"t: {field}"


def test_a_plain_task_is_taken_and_an_allowed_network_too() -> None:
    refuse_unsupported(TASK, configuration(), FakeBackend())
    refuse_unsupported(TASK, configuration(network="public"), FakeBackend())
    assert terms_of(TASK, configuration(network="public")).reach.network is Network.PUBLIC


def test_a_step_has_its_own_terms_and_else_the_tasks() -> None:
    step = replace(STEP, verifier=Verifier(mode=VerificationMode.LIVE, timeout_sec=7.0))
    terms = terms_of(TASK, configuration(), step)
    assert (terms.agent_timeout_sec, terms.verifier_timeout_sec, terms.mode) == (30.0, 7.0, VerificationMode.LIVE)
    assert terms.limits == Limits(memory_mb=512, disk_mb=100, cpus=1.0)
    own = replace(step, agent=AgentSettings(timeout_sec=5.0))
    assert terms_of(TASK, configuration(), own).agent_timeout_sec == 5.0
    overridden = terms_of(TASK, configuration(agent_timeout=2, verifier_timeout=3, verification="snapshot"), own)
    assert (overridden.agent_timeout_sec, overridden.verifier_timeout_sec) == (2.0, 3.0)
    assert overridden.mode is VerificationMode.SNAPSHOT


def test_a_task_is_expected_to_take_the_time_of_all_its_steps() -> None:
    own = replace(STEP, agent=AgentSettings(timeout_sec=5.0))
    assert expected_sec(TASK, None) == 30.0
    assert expected_sec(replace(TASK, steps=(STEP, own)), None) == 35.0
    assert expected_sec(replace(TASK, steps=(STEP, own)), 2.0) == 4.0
    assert expected_sec(replace(TASK, agent=AgentSettings(), steps=(STEP, own)), None) is None
    refuse_unsupported(replace(TASK, steps=(STEP, own)), configuration(), FakeBackend())


def test_skills_servers_and_hooks_are_taken_and_the_first_two_told() -> None:
    environment = Environment(mcp_servers=(McpServer(name="m", transport="stdio"),), skills_dir="/s")
    offering = replace(TASK, environment=environment, verifier=replace(VERIFIER, collect=(HOOK,)))
    refuse_unsupported(offering, configuration(), FakeBackend())
    assert declared(offering) == {"mcp_servers": ["m (stdio)"], "skills_dir": "/s"}
    assert declared(TASK) == {}


def test_an_allowlist_needs_a_backend_that_has_one() -> None:
    class Plain(FakeBackend):
        def capabilities(self) -> Capabilities:
            return replace(super().capabilities(), networks=frozenset({Network.NONE}))

    allowlist = NetworkPolicy(mode=NetworkMode.ALLOWLIST, allowed_hosts=("a.b",))
    with pytest.raises(TaskUnsupported, match="allowlist"):
        refuse_unsupported(replace(TASK, environment=Environment(network=allowlist)), configuration(), Plain())


NONE = NetworkPolicy(mode=NetworkMode.NONE)
LIVE = replace(VERIFIER, mode=VerificationMode.LIVE)


def verifier_network(task: Task, step: Step | None = None, **policies: object) -> Network:
    """What the verifier's sandbox has, in a task that is not refused."""
    refuse_unsupported(task, configuration(**policies), FakeBackend())
    return terms_of(task, configuration(**policies), step).verifier_reach.network


def test_a_verifier_with_a_sandbox_of_its_own_has_its_own_network() -> None:
    alone = replace(TASK, verifier=replace(VERIFIER, network=NONE))
    assert verifier_network(alone, network="public") is Network.NONE
    assert terms_of(alone, configuration(network="public")).reach.network is Network.PUBLIC
    assert (
        verifier_network(replace(TASK, verifier=replace(VERIFIER, network=PUBLIC)), network="public") is Network.PUBLIC
    )
    assert verifier_network(TASK, network="public") is Network.PUBLIC


def test_a_separate_verifiers_environment_may_say_it_and_steps_inherit_it() -> None:
    separate = replace(VERIFIER, mode=VerificationMode.SEPARATE, environment=Environment(network=NONE))
    assert verifier_network(replace(TASK, verifier=separate), network="public") is Network.NONE
    as_the_task = replace(separate, environment=replace(TASK.environment, network=NONE))
    same = replace(TASK, environment=replace(TASK.environment, network=NONE), verifier=as_the_task)
    assert verifier_network(same, network="public") is Network.PUBLIC  # it is the task's own environment once more
    stepped = replace(TASK, verifier=replace(VERIFIER, network=NONE), steps=(STEP,))
    assert verifier_network(stepped, STEP, network="public") is Network.NONE


@pytest.mark.parametrize(
    ("task", "policies", "said"),
    [
        (replace(TASK, verifier=replace(VERIFIER, network=PUBLIC)), {}, "policy.network = 'public' allows it"),
        (replace(TASK, verifier=replace(VERIFIER, network=PUBLIC)), {"network": "no-network"}, "allows it"),
        (replace(TASK, verifier=replace(LIVE, network=PUBLIC)), {}, "a live verifier runs in that same sandbox"),
        (replace(TASK, verifier=replace(LIVE, network=NONE)), {"network": "public"}, "in that same sandbox"),
        (
            replace(TASK, verifier=replace(VERIFIER, network=NONE)),
            {"network": "public", "verification": "live"},
            "in that same sandbox",
        ),
    ],
)
def test_a_verifiers_network_that_can_t_be_had_is_refused(task: Task, policies: dict[str, object], said: str) -> None:
    with pytest.raises(TaskUnsupported) as caught:
        refuse_unsupported(task, configuration(**policies), FakeBackend())
    assert caught.value.where == "t: verifier.network_mode"
    assert said in caught.value.message


def test_a_phase_that_asks_for_what_its_sandbox_has_anyway_is_taken() -> None:
    refuse_unsupported(
        replace(TASK, agent=AgentSettings(network=NONE), verifier=replace(LIVE, network=NONE)),
        configuration(),
        FakeBackend(),
    )


class Switching(FakeBackend):
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), switches_network=True)


def test_a_phase_has_a_network_of_its_own_where_the_backend_can_switch() -> None:
    hosts = NetworkPolicy(mode=NetworkMode.ALLOWLIST, allowed_hosts=("a.b",))
    task = replace(TASK, agent=AgentSettings(network=hosts), verifier=replace(LIVE, network=NONE))
    refuse_unsupported(task, configuration(), Switching())
    terms = terms_of(task, configuration(network="public"))
    assert (terms.reach, terms.agent_reach, terms.verifier_reach) == (
        Reach(network=Network.PUBLIC),
        Reach(network=Network.ALLOWLIST, hosts=("a.b",)),
        Reach(),
    )
    stepped = replace(task, steps=(STEP, replace(STEP, agent=AgentSettings(network=NONE))))
    assert [terms_of(stepped, configuration(), step).agent_reach.network for step in stepped.steps] == [
        Network.ALLOWLIST,
        Network.NONE,
    ]


@pytest.mark.parametrize(
    ("network", "policy", "said"),
    [
        (PUBLIC, "task", "policy.network = 'public' allows it"),
        (PUBLIC, "no-network", "policy.network = 'public' allows it"),
        (NetworkPolicy(mode=NetworkMode.ALLOWLIST, allowed_hosts=("a.b",)), "no-network", "more than policy.network"),
    ],
)
def test_a_phases_own_network_is_no_more_than_is_allowed(network: NetworkPolicy, policy: str, said: str) -> None:
    task = replace(TASK, agent=AgentSettings(network=network))
    with pytest.raises(TaskUnsupported, match=said) as caught:
        refuse_unsupported(task, configuration(network=policy), Switching())
    assert caught.value.where == "t: agent.network_mode"


def test_a_backend_without_that_network_says_so() -> None:
    class Plain(FakeBackend):
        def capabilities(self) -> Capabilities:
            return replace(super().capabilities(), networks=frozenset({Network.NONE}))

    allowlist = NetworkPolicy(mode=NetworkMode.ALLOWLIST, allowed_hosts=("a.b",))
    with pytest.raises(TaskUnsupported, match="'allowlist' is not available in the fake sandbox"):
        refuse_unsupported(replace(TASK, verifier=replace(VERIFIER, network=allowlist)), configuration(), Plain())


def test_an_attempt_is_promised_its_limits_where_nothing_else_is_said() -> None:
    named = replace(TASK, environment=replace(TASK.environment, memory_mb=2048, cpus=2.0, storage_mb=4096))
    assert requested(named, "task") == Need(memory_mb=2048, cpus=2, disk_mb=4096)
    assert requested(named, {"memory_mb": 512}).memory_mb == 512
    assert requested(replace(TASK, environment=Environment()), "task") == UNNAMED


def test_a_policy_may_promise_less_than_the_limit_and_never_more() -> None:
    named = replace(TASK, environment=replace(TASK.environment, memory_mb=2048, cpus=2.0))
    policy: dict[str, Json] = {"request_memory_mb": 256, "request_cpus": 8}
    assert requested(named, policy) == Need(memory_mb=256, cpus=2, disk_mb=100)
    terms = terms_of(named, configuration(resources=policy))
    assert (terms.limits.memory_mb, terms.requests.memory_mb) == (2048, 256)


def test_each_service_beside_a_task_needs_its_share_of_the_node() -> None:
    beside = Composed(main=Service(name="main"), beside=(Service(name="db"), Service(name="cache")))
    task = replace(TASK, environment=replace(TASK.environment, services=beside))
    alone, together = needed(TASK, "task"), needed(task, "task")
    assert (alone.memory_mb, together.memory_mb) == (512, 512 + 2 * UNNAMED.memory_mb)
    assert (alone.cpus, together.cpus) == (1.0, 1.0 + 2 * UNNAMED.cpus)
    assert terms_of(task, configuration()).requests.memory_mb == 512
