"""Policy files of a tenant's own: what no policy may say is refused, by the class or rule and the field."""

from __future__ import annotations

from importlib.resources import files

import pytest

from proctor.engine.errors import PolicyInvalid
from proctor.engine.outcomes import CURRENT_POLICY, is_shipped, load_policy, parse_policy, remember_policy

SHIPPED = files("proctor.engine").joinpath(f"policies/{CURRENT_POLICY}.toml").read_text(encoding="utf-8")


def refused(text: str) -> str:
    with pytest.raises(PolicyInvalid) as told:
        parse_policy(text, where="x.toml")
    return f"{told.value.where}: {told.value.message}"


def changed(old: str, new: str) -> str:
    assert SHIPPED.count(old) == 1, old
    return SHIPPED.replace(old, new)


def with_class(name: str, **fields: object) -> str:
    (line,) = [one for one in SHIPPED.splitlines() if one.startswith(f"{name} ")]
    values = ", ".join(
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in fields.items()
    )
    return changed(line, f"{name} = {{ {values} }}")


def with_rule(rule_class: str, phase: str, when: str, *, before: str = "task-invalid") -> str:
    own = f'[[rules]]\nid = "own"\nclass = "{rule_class}"\nphase = "{phase}"\nwhen = {when}\n\n'
    place = f'[[rules]]\nid = "{before}"'
    return changed(place, own + place)


def test_every_shipped_policy_loads() -> None:
    shipped = [one.name.removesuffix(".toml") for one in files("proctor.engine").joinpath("policies").iterdir()]
    assert CURRENT_POLICY in shipped
    for version in shipped:
        assert load_policy(version).version == version
        assert is_shipped(version)


def test_a_policy_of_ones_own_is_never_a_shipped_one() -> None:
    same = remember_policy(SHIPPED, where="x.toml")
    assert same.version.startswith(f"{CURRENT_POLICY}@")
    assert not is_shipped(same.version)
    assert not is_shipped("../policies/outcomes-1")


@pytest.mark.parametrize(
    ("name", "fields", "place"),
    [
        ("provider_auth", {"owner": "provider", "verdict": "fail", "retry": "resume"}, "verdict"),
        ("provider_auth", {"owner": "provider", "verdict": "pass", "retry": "resume"}, "verdict"),
        ("provider_auth", {"owner": "model", "verdict": "fail", "retry": "never"}, "owner"),
        ("provider_auth", {"owner": "provider", "verdict": "banana", "retry": "resume"}, "verdict"),
        ("sandbox_error", {"owner": "policy", "verdict": "policy", "retry": "backoff"}, "owner"),
        ("unclassified", {"owner": "model", "verdict": "fail", "retry": "resume"}, "owner"),
        ("unclassified", {"owner": "nobody", "verdict": "fail", "retry": "resume"}, "verdict"),
        ("unclassified", {"owner": "nobody", "verdict": "none", "retry": "at_once"}, "retry"),
        ("verifier_error", {"owner": "task", "verdict": "none", "retry": "at_once", "tries": 9}, "retry"),
        ("failed", {"owner": "model", "verdict": "none", "retry": "never"}, "verdict"),
        ("failed", {"owner": "infrastructure", "verdict": "none", "retry": "at_once"}, "owner"),
        ("failed", {"owner": "model", "verdict": "pass", "retry": "never"}, "verdict"),
        ("failed", {"owner": "model", "verdict": "fail", "retry": "at_once"}, "retry"),
        ("passed", {"owner": "model", "verdict": "fail", "retry": "never"}, "verdict"),
        ("out_of_memory", {"owner": "model", "verdict": "none", "retry": "once"}, "verdict"),
        ("out_of_memory", {"owner": "user", "verdict": "none", "retry": "once"}, "owner"),
        ("image_error", {"owner": "infrastructure", "verdict": "none", "retry": "lane"}, "retry"),
        ("lease_lost", {"owner": "infrastructure", "verdict": "none", "retry": "at_once", "tries": -1}, "tries"),
        ("lease_lost", {"owner": "infrastructure", "verdict": "none", "retry": "at_once", "tries": 10**12}, "tries"),
        ("lease_lost", {"owner": "infrastructure", "verdict": "none", "retry": "sometimes"}, "retry"),
        ("lease_lost", {"owner": "infrastructure", "verdict": "none", "retry": "at_once", "trys": 3}, "trys"),
    ],
)
def test_a_class_that_no_policy_may_change(name: str, fields: dict[str, object], place: str) -> None:
    assert refused(with_class(name, **fields)).startswith(f"x.toml: classes.{name}.{place}: ")


@pytest.mark.parametrize(
    "fields",
    [
        {"owner": "infrastructure", "verdict": "none", "retry": "once", "tries": 2},
        {"owner": "model", "verdict": "fail", "retry": "never"},
    ],
)
def test_memory_may_be_the_models_or_the_infrastructures_for_all(fields: dict[str, object]) -> None:
    parse_policy(with_class("out_of_memory", **fields), where="x.toml")


@pytest.mark.parametrize("when", ["{ passed = [true, false] }", "{ passed = false }", '{ problem = "reward_missing" }'])
def test_only_what_the_verifier_passed_is_passed(when: str) -> None:
    assert refused(changed("when = { passed = true }", f"when = {when}")).startswith("x.toml: rule 'pass': when")


def test_a_provider_never_makes_a_pass() -> None:
    told = refused(with_rule("passed", "any", '{ source = "provider" }', before="pass"))
    assert told.startswith("x.toml: rule 'own': when: Only what the verifier passed")


@pytest.mark.parametrize(
    ("rule_class", "phase", "when", "place"),
    [
        ("failed", "any", '{ source = "provider" }', "when.source"),
        ("failed", "grading", "{ passed = true }", "class"),
        ("failed", "agent", "{ exit_code = 1 }", "when"),
        ("failed", "grading", '{ problem = "reward_missing" }', "when"),
        ("agent_error", "agent", "{ crashed = true }", "when"),
        ("agent_limit", "agent", '{ source = "sandbox", graded = true }', "when.source"),
        ("verifier_error", "grading", "{ passed = false }", "when"),
        ("sandbox_error", "grading", "{ passed = false }", "class"),
        ("provider_auth", "agent", "{ exit_code = 7 }", "when"),
        ("provider_error", "any", "{ http_status = 503 }", "when"),
        ("sandbox_error", "agent", '{ limit = "time" }', "when"),
        ("sandbox_error", "collect", '{ source = "agent" }', "when.source"),
        ("sandbox_error", "collect", '{ exception = ["TransferRefused"] }', "when.exception"),
        ("node_lost", "agent", '{ kube_reason = "OOMKilled" }', "when.kube_reason"),
        ("out_of_memory", "agent", "{ exit_code = 137 }", "when"),
        ("unclassified", "any", '{ source = "sandbox" }', "class"),
    ],
)
def test_a_class_rests_on_what_makes_it(rule_class: str, phase: str, when: str, place: str) -> None:
    assert refused(with_rule(rule_class, phase, when)).startswith(f"x.toml: rule 'own': {place}: ")


@pytest.mark.parametrize(
    ("phase", "when", "place"),
    [
        (
            "any",
            '{ source = "provider", htp_status = 429 }',
            "when.htp_status: Phase 'any' has no field of that name; did",
        ),
        ("any", '{ stderr_tail = "rate limit" }', "when.stderr_tail"),
        ("any", '{ message = "rate limit" }', "when.message"),
        ("grading", '{ source = "provider" }', "when.source"),
        ("agent", "{ passed = true }", "when.passed"),
        ("any", '{ source = "provider", http_status = "429" }', "when.http_status"),
        ("any", '{ source = "provider", http_status = true }', "when.http_status"),
        ("any", '{ source = "provider", http_status = nan }', "when.http_status"),
        ("any", '{ source = "provider", http_status = [] }', "when.http_status"),
        ("any", '{ source = "provider", http_status = { gt = 500 } }', "when.http_status"),
        ("any", '{ source = "provider", http_status = {} }', "when.http_status"),
        ("any", '{ source = "provider", http_status = { ge = 599, le = 500 } }', "when.http_status"),
        ("any", '{ source = "provider", http_status = { ge = inf } }', "when.http_status"),
        ("any", '{ source = "provider", exception = { ge = 1 } }', "when.exception"),
        ("any", '{ source = "povider" }', "when.source"),
        ("any", '{ source = "provider", failed = 1 }', "when.failed"),
        ("any", '{ source = "provider", exception = 3 }', "when.exception"),
        ("any", "{}", "when: It fits everything"),
        ("moon", '{ source = "provider" }', "phase"),
    ],
)
def test_what_can_never_match_is_no_silent_rule(phase: str, when: str, place: str) -> None:
    assert refused(with_rule("provider_error", phase, when)).startswith(f"x.toml: rule 'own': {place}")


def test_a_range_of_a_field_that_is_a_number_matches() -> None:
    policy = parse_policy(
        with_rule("provider_error", "any", '{ source = "provider", http_status = { ge = 500 } }'), where="x"
    )
    (own,) = [rule for rule in policy.rules if rule.id == "own"]
    assert own.fits("agent", {"source": "provider", "http_status": 503})
    assert not own.fits("agent", {"source": "provider", "http_status": 499})
    assert not own.fits("agent", {"source": "provider", "http_status": True})


def test_a_rule_has_an_id_of_its_own() -> None:
    assert refused(changed('id = "image"\n', 'id = "pass"\n')).startswith("x.toml: rule 'pass': id")
    assert refused(changed('id = "image"\n', 'id = "a\\u0000"\n')).startswith("x.toml: rule 'a\\x00': id")
    assert refused(changed('id = "image"\n', "")).startswith("x.toml: rules[17]: id: It is missing.")


def test_fields_that_there_are_not_are_refused() -> None:
    assert refused("foo = 1\n" + SHIPPED).startswith("x.toml: foo: There is no such field.")
    assert refused(changed('id = "pass"', 'id = "pass"\npriority = 3')).startswith("x.toml: rule 'pass': priority: ")
    assert refused(changed("[classes]", '[classes]\nwon = { owner = "model" }')).startswith("x.toml: classes.won: ")
    assert refused("version = 1\n" + SHIPPED.replace('version = "outcomes-1"', "")).startswith("x.toml: version: ")


@pytest.mark.parametrize("source", ["provider", "sandbox", "harness", "profile", "task"])
def test_what_is_not_the_models_always_has_a_rule(source: str) -> None:
    text = SHIPPED
    for block in SHIPPED.split("[[rules]]")[1:]:
        if f'source = "{source}"' in block:
            text = text.replace(f"[[rules]]{block}", "")
    told = refused(text)
    assert told.startswith("x.toml: rules: No rule is for")
    assert repr(source) in told


@pytest.mark.parametrize("name", ["pass", "fail"])
def test_each_of_the_verifiers_words_has_a_rule(name: str) -> None:
    (block,) = [one for one in SHIPPED.split("[[rules]]")[1:] if one.startswith(f'\nid = "{name}"\n')]
    assert refused(SHIPPED.replace(f"[[rules]]{block}", "")).startswith("x.toml: rules: No rule makes a grading with")


def test_a_file_that_is_nested_too_deeply_is_refused() -> None:
    assert "nested too deeply" in refused("a = " + "[" * 100_000)
