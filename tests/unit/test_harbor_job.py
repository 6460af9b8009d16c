"""A whole job of Harbor's: what is written of many cells, and what its sums are over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from proctor.engine.exporting import AttemptFacts, Try
from proctor.engine.outcomes import CURRENT_POLICY
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow
from proctor.objects.store import StoredObject
from proctor.reports.harbor import Export, JobWriter
from proctor.reports.harbor.inputs import ExportedTask
from proctor.reports.harbor.names import trial_name
from proctor.reports.harbor.ours import Tallies, profile_document
from tests.unit.test_harbor_export import (
    BEGUN,
    DIGEST,
    attempt,
    cell,
    configuration,
    grading,
    phases,
    profiles,
    step,
)


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
