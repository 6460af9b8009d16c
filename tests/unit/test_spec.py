"""The run-set file: good ones are read whole, bad ones name the field and the remedy."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from proctor.engine.errors import SpecInvalid
from proctor.engine.spec import RunSetSpec, parse_duration, parse_spec, read_spec

LEAST = 'name = "n"\nsuite = "s"\n[[profiles]]\nname = "p"\nagent = "noop"\n'
WHOLE = """
name = "nightly"
suite = "examples/basics"
trials = 3
reuse = "30d"
[[profiles]]
name = "loop-sonnet"
series = "loop"
agent = "loop"
model = "anthropic/claude-sonnet-4-5"
thinking = "high"
[policy]
agent_timeout = "task"
resources = "task"
network = "task"
verification = "task"
[budget]
cost = "25 USD"
wall = "6h"
[execution]
sandbox = "local"
concurrency = 8
priority = "normal"
[secrets]
names = ["ANTHROPIC_API_KEY"]
[gate]
strict = 0.60
against = "label:main"
alpha = 0.05
"""


def read(text: str) -> RunSetSpec:
    return parse_spec(text.encode(), where="f.toml")


def test_the_documented_file_is_read() -> None:
    spec = read(WHOLE)
    assert (spec.trials, spec.reuse_sec, spec.profiles[0].thinking) == (3, 30 * 86_400, "high")
    assert spec.execution.concurrency == 8


def test_the_least_file_has_safe_defaults() -> None:
    spec = read(LEAST)
    assert (spec.trials, spec.execution.sandbox, spec.policy.network, spec.budget.cost) == (1, "local", "task", None)


BAD = [
    ("x = [", "not TOML"),
    (LEAST + "triasl = 3\n", "profiles[0].triasl"),
    (LEAST.replace("suite", "siute"), "siute"),
    (LEAST + "[polcy]\n", "Did you mean 'policy'"),
    (LEAST + "[policy]\nagent_timout = 3\n", "Did you mean 'agent_timeout'"),
    (LEAST.replace('name = "n"', "trials = 2"), "name: This key is missing"),
    ("trials = 0\n" + LEAST, "trials"),
    ("trials = 100001\n" + LEAST, "trials"),
    ('reuse = "soon"\n' + LEAST, "reuse"),
    (LEAST + '[budget]\ncost = "many"\n', "budget.cost"),
    (LEAST + '[budget]\nwall = "6 parsecs"\n', "budget.wall"),
    (LEAST + "[policy]\nagent_timeout = -1\n", "policy.agent_timeout"),
    (LEAST + "[execution]\nconcurrency = 0\n", "execution.concurrency"),
    (LEAST + '[secrets]\nnames = ["A B"]\n', "secrets.names[0]"),
    (LEAST + "[gate]\nstrict = 60\n", "gate.strict"),
    (LEAST.replace('"noop"', '"scripted"'), "needs 'script'"),
    (LEAST + 'command = "ls"\n', "belongs to agent = 'command'"),
    (LEAST + '[[profiles]]\nname = "p"\nagent = "noop"\n', "two profiles are named 'p'"),
    ('name = "n"\nsuite = "s"\nprofiles = []\n', "profiles"),
    (LEAST + '[gate]\nprofiles = ["q"]\n', "gate.profiles: There is no profile 'q'"),
    (LEAST + 'env = { T = "${OTHER}" }\n', "profiles[0].env: ${OTHER} is not among secrets.names"),
    (LEAST + 'env = { T = "${OTHER" }\n', "a reference is the whole value"),
    (LEAST + 'env = { "A=B" = "x" }\n', "'A=B' can't name a variable"),
    (LEAST + "[policy]\nresources = { memory_mb = -1 }\n", "memory_mb is -1, and has to be 16 to"),
    (LEAST + "[policy]\nresources = { cpus = 1e9 }\n", "cpus is 1e+09"),
    (LEAST + "[policy]\nresources = { request_cpus = 0 }\n", "request_cpus is 0, and has to be 0.01 to"),
    (LEAST + "[policy]\nresources = { memory_mb = 64, request_memory_mb = 65 }\n", "65, more than its own limit of 64"),
    (LEAST + "[[limits]]\nconcurrency = 2\n", "limits[0]: a limit is of a 'provider' or of a 'profile'"),
    (LEAST + '[[limits]]\nprofile = "p"\n', "limits[0]: a limit says 'concurrency'"),
    (LEAST + '[[limits]]\nprofile = "q"\nconcurrency = 1\n', "limits[0].profile: There is no profile 'q'"),
    (LEAST + '[[limits]]\nprovider = "q"\nper_minute = 1\n', "limits[0].provider: No profile's model is of"),
    (LEAST + '[[limits]]\nprofile = "p"\nper_minute = 0\n', "limits[0].per_minute"),
    (LEAST + 2 * '[[limits]]\nprofile = "p"\nper_minute = 1\n', "limits[1]: There is a limit of this already"),
    (LEAST + '[[faults]]\nkind = "oom"\n', "faults[0].kind: It should be 'pull_drop', 'oom_kill'"),
    (LEAST + "[[faults]]\nattempts = [1]\n", "faults[0].kind: This key is missing"),
    (LEAST + '[[faults]]\nkind = "eviction"\ntask = "x"\n', "Did you mean 'tasks'"),
    (LEAST + '[[faults]]\nkind = "eviction"\nprofiles = ["q"]\n', "faults[0].profiles: There is no profile 'q'"),
    (LEAST + '[[faults]]\nkind = "eviction"\nattempts = []\n', "faults[0].attempts"),
    (LEAST + '[[faults]]\nkind = "eviction"\nattempts = [0]\n', "faults[0].attempts[0]"),
    (LEAST + '[[faults]]\nkind = "eviction"\nshare = 0\n', "faults[0].share"),
    (LEAST + '[[faults]]\nkind = "eviction"\nshare = nan\n', "faults[0].share"),
    (LEAST + '[[faults]]\nkind = "eviction"\nshare = true\n', "faults[0].share"),
    (LEAST + '[[faults]]\nkind = "eviction"\nattempts = [1, 1]\n', "'attempts' names the same twice"),
    (LEAST + '[[faults]]\nkind = "eviction"\nseed = 7\n', "'seed' chooses a 'share' of the cells"),
    (LEAST + '[[faults]]\nkind = "eviction"\nretry_after_sec = 7\n', "belongs to kind = 'rate_limit'"),
]


@pytest.mark.parametrize(("text", "told"), BAD)
def test_bad_files_name_the_place(text: str, told: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        read(text)
    assert "f.toml" in str(caught.value)
    assert told in str(caught.value)


def test_every_wrong_field_is_told_on_a_line_of_its_own() -> None:
    with pytest.raises(SpecInvalid) as caught:
        read("trials = 0\n" + LEAST + "[policy]\nagent_timeout = -1\n[polcy]\n")
    assert caught.value.where == "f.toml"
    assert caught.value.message.splitlines() == [
        "3 fields are wrong:",
        "  polcy: There is no such key. Did you mean 'policy'?",
        "  trials: It should be greater than or equal to 1.",
        '  policy.agent_timeout: It is "task", or seconds above 0.',
    ]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (LEAST.replace('"noop"', '"command"') + 'command = "a\\u0000b"\n', "f.toml: profiles[0].command"),
        (LEAST + 'env = { A = "\\u0000" }\n', "f.toml: profiles[0].env.A"),
        (LEAST + "sampling = { temperature = nan }\n", "f.toml: profiles[0].sampling.temperature"),
        (LEAST + "sampling = { seed = 9007199254740993 }\n", "f.toml: profiles[0].sampling.seed"),
        (LEAST + "sampling = { seed = [1] }\n", "f.toml: profiles[0].sampling.seed"),
        (LEAST + '[policy]\nagent_timeout = "tsk"\n', "f.toml: policy.agent_timeout"),
    ],
)
def test_values_that_nothing_can_carry_are_refused_by_their_field(text: str, where: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        read(text)
    assert caught.value.where == where


def test_a_file_that_is_not_there_has_a_remedy_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid) as caught:
        read_spec(tmp_path / "absent.toml")
    assert "field" not in caught.value.remedy


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(SpecInvalid, match="UTF-8"):
        parse_spec(b"\xff", where="f.toml")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("6h", 21_600), ("30d", 2_592_000)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


def test_the_published_schema_is_the_models() -> None:
    published = json.loads(files("proctor.engine").joinpath("run-set.schema.json").read_text(encoding="utf-8"))
    assert published == RunSetSpec.model_json_schema()
