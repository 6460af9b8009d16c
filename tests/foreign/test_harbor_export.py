"""Harbor reads every file of an export with its own models, adds the trials up to the same sums, and shows them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Cli
from tests.acceptance.test_export import HOSTILE_NAME, STEPS, write_suite
from tests.foreign.conftest import Ask
from tests.foreign.environments import HARBOR


@pytest.fixture(scope="module")
def exported() -> Iterator[Path]:
    """A run of tasks with and without steps, of agents with and without costs, exported."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-foreign-"))
    folder.chmod(0o755)
    cli = Cli(folder)
    write_suite(cli)
    cli("run", "f.toml", code=3)
    (folder / "jobs").mkdir()
    cli("export", "--to", "jobs/taken-along")
    yield folder / "jobs" / "taken-along"
    cli("down")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def read(ask: Ask, exported: Path) -> Any:
    """What Harbor made of it."""
    return ask(HARBOR, "harbor_jobs", str(exported))


def test_harbors_models_load_every_file(read: Any) -> None:
    assert (read["job"], read["tasks"], len(read["trials"])) == ("taken-along", 4, 12)
    assert read["agents"] == ["scripted@half", "scripted@rest", "command"]
    assert read["locks"] == sorted(trial["lock"] for trial in read["trials"])
    assert {trial["trajectory"] for trial in read["trials"]} == {"scripted", "command", "none"}


def test_harbor_adds_the_trials_up_to_the_sums_that_are_written(read: Any) -> None:
    written, added_up = read["stats"]
    assert written == added_up
    assert written["n_errored_trials"] == 3


def test_a_trial_without_a_verdict_has_no_valid_reward_there(read: Any) -> None:
    without = [trial for trial in read["trials"] if not trial["valid"]]
    assert [(trial["task"], trial["exception"], trial["rewards"]) for trial in without] == [
        ("imaged", "task_invalid", None)
    ] * 3


def test_the_rewards_of_steps_are_those_that_harbor_makes_of_them(read: Any) -> None:
    trials = {(trial["agent"], trial["task"]): trial for trial in read["trials"]}
    half = trials["scripted@half", STEPS]
    assert half["rewards"] == half["again"]
    assert half["rewards"]["cases"] == pytest.approx(6 / 14, abs=1e-4)
    assert trials["scripted@half", HOSTILE_NAME]["rewards"] == {"reward": 1.0}
    began = [trial for trial in trials.values() if trial["agent"] == "command" and trial["valid"]]
    assert {trial["cost"] for trial in began} == {None}


def test_harbors_viewer_shows_every_trial(read: Any) -> None:
    assert read["viewer"]["codes"] == [200]
    rewards = {trial["name"]: trial["rewards"] for trial in read["trials"]}
    assert read["viewer"]["rewards"].keys() == rewards.keys()
    for name, shown in read["viewer"]["rewards"].items():
        assert shown == (None if rewards[name] is None else rewards[name]["reward"])
