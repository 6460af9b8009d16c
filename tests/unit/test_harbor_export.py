"""What becomes of a cell in Harbor's fields, and what stands beside because Harbor has no field for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.engine.evidence import Evidence, Phase
from proctor.engine.exporting import AttemptFacts, GradingRow, OutcomeRow, Try
from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass, load_policy
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow
from proctor.objects.store import StoredObject
from proctor.reports.harbor import Export, JobWriter
from proctor.reports.harbor.inputs import ExportedProfile, ExportedTask, exported_profiles, trial_lock
from proctor.reports.harbor.names import plain, step_folder, trial_name
from proctor.reports.harbor.ours import Tallies, profile_document, trial_document
from proctor.reports.harbor.trials import Trial, harbor_rewards, trial_config, trial_result

BEGUN = datetime(2026, 9, 18, 14, 5, tzinfo=UTC)
POLICIES: dict[str, Any] = {"agent_timeout": "task", "verifier_timeout": "task", "resources": "task"}
OWED = [name for name, rule in load_policy(CURRENT_POLICY).classes.items() if rule.verdict == "none"]
DIGEST = "a" * 64


def configuration(**parts: Any) -> dict[str, Any]:
    """The parts of a configuration document that an export looks at."""
    return {
        "agent": {"name": "scripted", "version": "1", "layer": None},
        "model": None,
        "thinking": None,
        "options": {},
        "policies": POLICIES,
        "sandbox": {"backend": "local", "environment": {}},
        **parts,
    }


def profiles(*documents: Mapping[str, Any]) -> dict[int, ExportedProfile]:
    """Profiles p0, p1, ... of these configurations."""
    rows = [
        {"position": place, "name": f"p{place}", "series": "s", "configuration": f"c{place}", "document": one}
        for place, one in enumerate(documents)
    ]
    return exported_profiles(rows)


def cell(number: int = 1, **parts: Any) -> CellRow:
    """A cell with a verdict of no."""
    fields = {
        "cell": UUID(int=number << 96),
        "profile": 0,
        "content_digest": DIGEST,
        "trial": 1,
        "reused": False,
        "withdrawn": None,
        "verdict": False,
        "reward": 0.0,
        "outcome": "failed",
        "owner": "model",
        "limit": "",
        "attempt": UUID(int=number),
        "attempts": 1,
    }
    return CellRow(**{**fields, **parts})


def grading(rewards: Mapping[str, float] | None, **detail: Any) -> GradingRow:
    """A grading by snapshot."""
    return GradingRow(number=1, mode="snapshot", forgeable=False, rewards=rewards, detail=detail, graded_at=BEGUN)


def phases(*told: tuple[str, Mapping[str, Any]]) -> tuple[Evidence, ...]:
    """Phases of a second each."""
    return tuple(
        Evidence(
            phase=Phase(phase),
            seq=number,
            started_at=BEGUN + timedelta(seconds=number),
            ended_at=BEGUN + timedelta(seconds=number + 1),
            detail=dict(detail),
        )
        for number, (phase, detail) in enumerate(told, start=1)
    )


def attempt(outcome: str = "failed", *, verdict: bool | None = False, **parts: Any) -> AttemptFacts:
    """An attempt that ended in a class."""
    fields: dict[str, Any] = {
        "id": UUID(int=1),
        "number": 1,
        "started_at": BEGUN,
        "ended_at": BEGUN + timedelta(minutes=1),
        "backend": "local",
        "last_segment": 0,
        "limits": {},
        "usage": None,
        "artifacts": {},
        "outcome": OutcomeRow(outcome=outcome, owner="whose", rule="by-rule", verdict=verdict, limit=""),
        "grading": None,
        "evidence": (),
        "tries": (Try(attempt=UUID(int=1), number=1, outcome=outcome, owner="whose", rule="by-rule"),),
    }
    return AttemptFacts(**{**fields, **parts})


def trial(facts: AttemptFacts, *, steps: Sequence[str] = (), profile: ExportedProfile | None = None) -> Trial:
    """A trial of that attempt."""
    return Trial(
        run_set=UUID(int=9),
        policy_version=CURRENT_POLICY,
        folder=Path("/jobs/job"),
        profile=profile or profiles(configuration())[0],
        task=ExportedTask(name="org/task", content_digest=DIGEST, dataset="set", steps=tuple(steps)),
        cell=cell(),
        facts=facts,
    )


# --- names ------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=300))
def test_a_folders_name_is_one_harmless_component_whatever_a_task_is_called(text: str) -> None:
    for name in (plain(text), trial_name(text, UUID(int=5)), step_folder(text)):
        assert PurePosixPath(name).parts == (name,)
        assert not name.startswith(".")
        assert name.isprintable()
        assert 0 < len(name.encode()) <= 255


@pytest.mark.parametrize("text", ["..", "../../etc/passwd", "/etc/passwd", "", "\x1b[2J", "~root", "a\\..\\b"])
def test_names_that_would_climb(text: str) -> None:
    assert "/" not in trial_name(text, UUID(int=5))
    assert not plain(text).startswith((".", "~", "/"))


def test_a_trials_name_is_of_harbors_form_and_of_its_cell_alone() -> None:
    first, second = UUID(int=1 << 96), UUID(int=2 << 96)
    assert trial_name("org/growing-ledger", first) == "growing-ledger__0000000100000000"
    assert trial_name("org/growing-ledger", first) != trial_name("org/growing-ledger", second)
    assert trial_name("x" * 80, first).startswith("x" * 32 + "__")


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_profiles_that_harbor_would_count_as_one_are_told_apart() -> None:
    codex = {"name": "codex", "version": "2", "layer": None}
    found = profiles(
        configuration(),
        configuration(options={"script": {}}),
        configuration(agent=codex, model="openai/gpt"),
        configuration(agent=codex, model="azure/gpt"),
        configuration(agent=codex, model="openai/other"),
    )
    assert [one.agent for one in found.values()] == ["scripted@p0", "scripted@p1", "codex@p2", "codex@p3", "codex"]
    assert found[4].info()["model_info"] == {"name": "other", "provider": "openai"}
    assert found[0].info()["model_info"] is None


def test_an_override_stands_where_harbor_looks_for_one() -> None:
    resources = {"memory_mb": 512.0, "cpus": 0.5}
    policies = {"agent_timeout": 30.0, "verifier_timeout": 9.0, "resources": resources}
    config = trial_config(trial(attempt(), profile=profiles(configuration(policies=policies, thinking="high"))[0]))
    agent, environment = config["agent"], config["environment"]
    assert isinstance(agent, dict)
    assert (agent["override_timeout_sec"], agent["kwargs"]) == (30.0, {"reasoning_effort": "high"})
    assert environment == {
        "import_path": "proctor:local",
        "override_cpus": 0.5,
        "override_memory_mb": 512,
        "override_storage_mb": None,
    }
    assert config["verifier"] == {"override_timeout_sec": 9.0}


def test_a_task_without_override_has_none() -> None:
    config = trial_config(trial(attempt()))
    assert config["verifier"] == {"override_timeout_sec": None}
    assert config["timeout_multiplier"] == 1.0


def test_a_task_is_found_by_name_and_digest_or_is_a_plain_path() -> None:
    packaged = ExportedTask(name="org/task", content_digest=DIGEST, dataset="set")
    local = ExportedTask(name="a [b]/../c", content_digest=DIGEST, dataset="set")
    assert packaged.config() == {"name": "org/task", "ref": f"sha256:{DIGEST}", "source": "set"}
    assert packaged.id() == {"org": "org", "name": "task", "ref": f"sha256:{DIGEST}"}
    assert (local.id(), local.lock()["type"]) == ({"path": "a-b-..-c"}, "local")


@pytest.mark.parametrize(
    ("mode", "word"), [("live", "shared"), ("separate", "separate"), ("snapshot", None), ("import", None)]
)
def test_only_modes_that_harbor_knows_are_named(mode: str, word: str | None) -> None:
    facts = attempt(grading=replace(grading({"reward": 0.0}), mode=mode))
    one = trial(facts)
    assert trial_result(one)["verifier_environment_mode"] == word
    verifier = trial_lock(one.task, one.profile, mode)["verifier"]
    assert isinstance(verifier, dict)
    assert verifier["environment_mode"] == word


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", OWED)
def test_a_class_without_a_verdict_is_the_exception_and_its_reward_does_not_count(outcome: OutcomeClass) -> None:
    failed = {"failed": True, "message": "what happened", "stderr_tail": "last words"}
    facts = attempt(
        outcome, verdict=None, grading=grading({"reward": 0.0}), evidence=phases(("start", {}), ("agent", failed))
    )
    result = trial_result(trial(facts))
    assert result["verifier_result"] is None
    assert result["exception_info"] == {
        "exception_type": outcome.value,
        "exception_message": "agent: what happened (owner: whose; rule: by-rule)",
        "exception_traceback": "last words",
        "occurred_at": "2026-09-18T14:05:03+00:00",
        "policy_override": {"has_valid_reward": False},
    }
    assert trial_document(trial(facts))["rewards"] == {"proctor": {"reward": 0.0}, "harbor": {"reward": 0.0}}


def test_a_broken_verifier_says_so() -> None:
    facts = attempt("verifier_error", verdict=None, grading=grading(None, problem="reward_empty"))
    told = trial_result(trial(facts))["exception_info"]
    assert isinstance(told, dict)
    assert told["exception_message"] == "verify: reward_empty (owner: whose; rule: by-rule)"


@pytest.mark.parametrize("outcome", ["failed", "agent_limit", "agent_refused", "agent_error"])
def test_a_verdict_is_no_exception_however_the_agent_ended(outcome: str) -> None:
    result = trial_result(trial(attempt(outcome, grading=grading({"reward": 0.0}))))
    assert (result["exception_info"], result["verifier_result"]) == (None, {"rewards": {"reward": 0.0}})


# --- what it took -----------------------------------------------------------------------------------------------------


def test_unknown_usage_is_null_and_never_nothing() -> None:
    result = trial_result(trial(attempt(usage=None)))["agent_result"]
    assert isinstance(result, dict)
    assert {name: value for name, value in result.items() if name != "metadata"} == dict.fromkeys(
        ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")
    )
    part = trial_result(trial(attempt(usage={"input_tokens": None, "cache_read_tokens": 5, "cost_nano": None})))
    assert isinstance(part["agent_result"], dict)
    assert (part["agent_result"]["n_input_tokens"], part["agent_result"]["cost_usd"]) == (None, None)


def test_input_tokens_include_cached_ones() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_tokens": 5,
        "cache_write_tokens": 2,
        "output_tokens": 3,
        "cost_nano": 1_500_000_000,
    }
    result = trial_result(trial(attempt(usage=usage)))["agent_result"]
    assert isinstance(result, dict)
    assert [result[name] for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens")] == [17, 5, 3]
    assert result["cost_usd"] == 1.5


def test_times_are_of_the_phases_and_not_of_the_reference_solution() -> None:
    evidence = phases(
        ("prepare", {}),
        ("start", {}),
        ("agent_setup", {}),
        ("agent", {}),
        ("verify", {}),
        ("verify", {"reference": "x"}),
    )
    result = trial_result(trial(attempt(evidence=evidence)))
    assert result["environment_setup"] == {
        "started_at": "2026-09-18T14:05:01+00:00",
        "finished_at": "2026-09-18T14:05:03+00:00",
    }
    assert result["verifier"] == {
        "started_at": "2026-09-18T14:05:05+00:00",
        "finished_at": "2026-09-18T14:05:06+00:00",
    }


# --- steps ------------------------------------------------------------------------------------------------------------


def step(name: str, rewards: Mapping[str, float] | None, *, reached: bool = True, problem: str | None = None) -> Any:
    """A step as a grading tells it."""
    return {"name": name, "reached": reached, "rewards": rewards, "passed": None, "problem": problem}


STOPPED = grading(
    {"reward": 0.3},
    strategy="mean",
    steps=[step("one", {"reward": 0.9}), step("two", None, reached=False), step("three", None, reached=False)],
    executed_mean={"reward": 0.9},
)


def test_both_readings_of_a_task_that_was_left_early() -> None:
    evidence = phases(("agent", {"step": "one"}), ("verify", {"step": "one"}))
    one = trial(attempt(grading=STOPPED, evidence=evidence), steps=("one", "two", "three"))
    result = trial_result(one)
    assert result["verifier_result"] == {"rewards": {"reward": 0.9}}
    assert trial_document(one)["rewards"] == {"proctor": {"reward": 0.3}, "harbor": {"reward": 0.9}}
    assert isinstance(result["agent_result"], dict)
    assert result["agent_result"]["metadata"]["proctor"]["rewards"] == {"reward": 0.3}
    assert isinstance(result["step_results"], list)
    assert [(told["step_name"], told["verifier_result"]) for told in result["step_results"]] == [
        ("one", {"rewards": {"reward": 0.9}})
    ]


def test_with_the_strategy_final_harbor_reads_the_last_step_that_was_run() -> None:
    steps = [step("one", {"reward": 1.0}), step("two", {"reward": 0.2}), step("three", None, reached=False)]
    told = grading({"reward": 0.0}, strategy="final", steps=steps, executed_mean={"reward": 0.6})
    assert harbor_rewards(told) == {"reward": 0.2}
    assert harbor_rewards(grading({"reward": 0.5})) == {"reward": 0.5}


def test_a_broken_step_is_an_exception_that_leaves_a_verdict_valid() -> None:
    steps = [step("one", None, problem="reward_missing"), step("two", {"reward": 1.0})]
    told = grading({"reward": 1.0}, strategy="final", steps=steps, executed_mean={"reward": 1.0})
    evidence = phases(("agent", {"step": "one"}), ("verify", {"step": "one"}), ("agent", {"step": "two"}))
    passed = trial_result(trial(attempt("passed", verdict=True, grading=told, evidence=evidence), steps=("one", "two")))
    assert isinstance(passed["step_results"], list)
    exception = passed["step_results"][0]["exception_info"]
    assert (exception["exception_type"], exception["exception_message"]) == ("verifier_error", "reward_missing")
    assert "policy_override" not in exception
    assert passed["verifier_result"] == {"rewards": {"reward": 1.0}}


# --- a whole job ------------------------------------------------------------------------------------------------------


class Log:
    """A log of these lines, and trajectories of one byte."""

    def __init__(self, lines: Iterable[tuple[int, str, str]] = ()) -> None:
        self._lines = [
            {"t": (BEGUN + timedelta(seconds=at)).isoformat(), "phase": phase, "stream": "stdout", "text": text}
            for at, phase, text in lines
        ]

    def segments(self, facts: AttemptFacts) -> Iterable[bytes]:
        """One segment."""
        _ = facts
        return [b"".join(json.dumps(line).encode() + b"\n" for line in self._lines)]

    def save(self, stored: StoredObject, path: Path) -> None:
        """What is stored."""
        path.write_bytes(stored.key.encode())


def write(folder: Path, cells: Sequence[tuple[CellRow, AttemptFacts | None]], log: Log, *steps: str) -> Any:
    """A job of these cells; what was exported."""
    run_set = RunSetRow(
        id=UUID(int=9),
        name="n",
        spec_digest="d",
        suite_id="s",
        continued=0,
        policy_version=CURRENT_POLICY,
        state="complete_with_gaps",
        reason="",
        trace_id="t",
        reuse_sec=None,
        created_at=BEGUN,
        ended_at=None,
        running_since=BEGUN,
    )
    export = Export(
        run_set=run_set,
        folder=Path("/jobs/job"),
        at=BEGUN,
        profiles=profiles(configuration()),
        tasks={DIGEST: ExportedTask(name="org/task", content_digest=DIGEST, dataset="set", steps=steps)},
        trials=1,
        concurrency=4,
    )
    with JobWriter.open(folder, export, log) as writer:
        for one, facts in cells:
            writer.add(one, facts)
        return writer.finish([])


def test_harbors_sums_are_over_valid_rewards_and_every_owed_cell_is_there(tmp_path: Path) -> None:
    graded = attempt(grading=grading({"reward": 0.5, "style": 1.0}), usage={"cost_nano": 2_000_000_000})
    again = Try(attempt=UUID(int=7), number=2, outcome="passed", owner="model", rule="pass")
    passed = replace(
        attempt("passed", verdict=True, grading=grading({"reward": 1.0})),
        tries=(*graded.tries, again),
    )
    owed = attempt("cancelled", verdict=None)
    withdrawn = cell(4, withdrawn="not wanted")
    exported = write(
        tmp_path,
        [
            (cell(1), graded),
            (cell(2, verdict=True, outcome="passed"), passed),
            (cell(3, verdict=None, outcome="cancelled", owner="user"), owed),
            (withdrawn, graded),
            (cell(5, verdict=None, outcome=None, owner=None, attempt=None, attempts=0), None),
        ],
        Log(),
    )
    assert (exported.trials, exported.expected) == (3, 4)
    assert [(gap.outcome, gap.owner, gap.cells) for gap in exported.gaps] == [
        ("cancelled", "user", 1),
        ("not_started", "nobody", 1),
    ]
    names = [trial_name("task", cell(number).cell) for number in (1, 2, 3)]
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["stats"] == {
        "n_completed_trials": 3,
        "n_errored_trials": 1,
        "n_running_trials": 0,
        "n_pending_trials": 1,
        "n_cancelled_trials": 1,
        "n_retries": 1,
        "n_input_tokens": None,
        "n_cache_tokens": None,
        "n_output_tokens": None,
        "cost_usd": 2.0,
        "evals": {
            "scripted__set": {
                "n_trials": 2,
                "n_errors": 1,
                "metrics": [{"reward": 0.75, "style": 0.5}],
                "pass_at_k": {},
                "reward_stats": {"reward": {"0.5": [names[0]], "1.0": [names[1]]}, "style": {"1.0": [names[0]]}},
                "exception_stats": {"cancelled": [names[2]]},
            }
        },
    }
    assert result["n_total_trials"] == 4
    assert len(json.loads((tmp_path / "lock.json").read_text())["trials"]) == 3
    lines = [json.loads(line) for line in (tmp_path / "proctor-cells.jsonl").read_text().splitlines()]
    assert [line["trial_name"] for line in lines] == [*names, None, None]
    assert [line["withdrawn"] for line in lines] == [None, None, None, "not wanted", None]
    ours = json.loads((tmp_path / "proctor.json").read_text())["profiles"][0]
    assert [ours[name] for name in ("expected", "decided", "passed", "withdrawn")] == [4, 2, 1, 1]
    assert (ours["strict"], ours["graded"], ours["coverage"], ours["bounds"]) == (0.25, 0.5, 0.5, [0.25, 0.75])
    assert not list(tmp_path.glob(".*"))


def test_a_line_that_was_held_back_stays_with_its_own_step(tmp_path: Path) -> None:
    evidence = phases(
        ("agent", {"step": "one"}), ("verify", {"step": "one"}), ("agent", {"step": "two"}), ("verify", {"step": "two"})
    )
    steps = [step("one", {"reward": 1.0}), step("two", {"reward": 1.0})]
    told = grading({"reward": 1.0}, strategy="mean", steps=steps, executed_mean={"reward": 1.0})
    facts = attempt(
        "passed",
        verdict=True,
        grading=told,
        evidence=evidence,
        artifacts={"trajectory.json": StoredObject(key="{}", sha256="", size=2)},
    )
    lines = [
        (0, "agent", "setting up\n"),
        (1, "agent", "at one\n"),
        (2, "start", "laying out\n"),
        (2, "verify", "judging one\n"),
        (3, "verify", "its held-back rest\n"),
        (3, "agent", "at two\r\n"),
        (5, "verify", "judging two\n"),
    ]
    write(tmp_path, [(cell(1, verdict=True, outcome="passed"), facts)], Log(lines), "one", "two")
    folder = tmp_path / trial_name("task", cell(1).cell)
    read = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.txt")}
    assert read == {
        "steps/one/agent/scripted.txt": b"setting up\nat one\n",
        "steps/one/verifier/test-stdout.txt": b"judging one\nits held-back rest\n",
        "steps/two/agent/scripted.txt": b"at two\r\n",
        "steps/two/verifier/test-stdout.txt": b"judging two\n",
    }
    assert (folder / "trial.log").read_text().endswith("laying out\n")
    assert (folder / "agent/trajectory.json").read_text() == "{}"


def test_the_known_answer_of_ten_cells_is_in_the_numbers() -> None:
    classes = ["passed"] * 5 + ["provider_rate_limit"] * 2 + ["provider_auth"] + ["image_error"] * 2
    tallies = Tallies()
    for number, name in enumerate(classes):
        tallies.add(cell(number, outcome=name, verdict=True if name == "passed" else None))
    rate = tallies.rates(0)
    assert (rate.strict, rate.graded, rate.coverage) == (0.5, 1.0, 0.5)
    document = profile_document(profiles(configuration())[0], rate, tallies.classes(0), None)
    assert document["bounds"] == [0.5, 1.0]


def test_values_of_an_agents_environment_do_not_go_along() -> None:
    env = {"KEY": "${KEY}", "OTHER": "sk-literal"}
    profile = profiles(configuration(options={"env": env}))[0]
    text = json.dumps(profile_document(profile, Tallies().rates(0), [], None))
    assert '{"KEY": "${KEY}", "OTHER": null}' in text
    assert "sk-literal" not in text
