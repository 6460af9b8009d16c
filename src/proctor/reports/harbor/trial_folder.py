"""The files of one trial, where Harbor's ``TrialPaths`` looks for them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Protocol

from proctor.engine.evidence import Evidence, Phase
from proctor.engine.exporting import AttemptFacts
from proctor.objects.store import StoredObject
from proctor.reports.harbor.inputs import trial_lock
from proctor.reports.harbor.json_files import write_json
from proctor.reports.harbor.names import plain, step_folder
from proctor.reports.harbor.ours import trial_document
from proctor.reports.harbor.trials import (
    Trial,
    exception_text,
    executed_steps,
    harbor_rewards,
    step_rewards,
    trial_config,
    trial_result,
)

__all__ = ["Kept", "write_trial"]

TRAJECTORY: str = "trajectory.json"


class Kept(Protocol):
    """What is kept of attempts outside the database."""

    def segments(self, facts: AttemptFacts) -> Iterable[bytes]:
        """The attempt's log, piece by piece; nothing where none was kept."""
        ...

    def save(self, stored: StoredObject, path: Path) -> None:
        """Write an object to a new file, its digest checked."""
        ...


def write_trial(trial: Trial, job: Path, kept: Kept) -> dict[str, object]:
    """Write a trial's folder into a job's; returns its ``TrialResult``."""
    folder = job / trial.name
    folder.mkdir()
    result = trial_result(trial)
    mode = None if trial.facts.grading is None else trial.facts.grading.mode
    write_json(folder / "config.json", trial_config(trial))
    write_json(folder / "lock.json", trial_lock(trial.task, trial.profile, mode))
    write_json(folder / "result.json", result)
    write_json(folder / "proctor.json", trial_document(trial))
    if (told := exception_text(trial)) is not None:
        _write_text(folder / "exception.txt", told)
    _write_rewards(trial, folder)
    _write_logs(trial, folder, kept)
    return dict(result)


def _write_rewards(trial: Trial, folder: Path) -> None:
    """Only where there is a verdict: without one a verifier's word is evidence, and a script would count it."""
    for step in executed_steps(trial) if trial.task.steps else ():
        place = folder / "steps" / step_folder(step) / "verifier"
        place.mkdir(parents=True)
        if (rewards := step_rewards(trial, step)) is not None:
            write_json(place / "reward.json", dict(rewards))
    grading = trial.facts.grading
    if not trial.task.steps and trial.decided and grading is not None and (read := harbor_rewards(grading)) is not None:
        (folder / "verifier").mkdir()
        write_json(folder / "verifier" / "reward.json", dict(read))


def _write_logs(trial: Trial, folder: Path, kept: Kept) -> None:
    """The trajectory is of all steps together; what programs printed is put where its step is."""
    (folder / "agent").mkdir()
    if (trajectory := trial.facts.artifacts.get(TRAJECTORY)) is not None:
        kept.save(trajectory, folder / "agent" / TRAJECTORY)
    _write_text(folder / "trial.log", "".join(_phase_line(item) for item in trial.facts.evidence))
    places = _Places(trial, folder)
    for segment in kept.segments(trial.facts):
        for path, texts in groupby(_lines(segment, places), key=lambda one: one[0]):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_text(path, "".join(text for _, text in texts))


def _lines(segment: bytes, places: _Places) -> Iterator[tuple[Path, str]]:
    for line in segment.splitlines():
        told = json.loads(line)
        yield places.of(told["phase"], datetime.fromisoformat(told["t"])), told["text"]


class _Places:
    """Which file a line of the log belongs to: by its phase, and by the step whose such phase had begun last."""

    def __init__(self, trial: Trial, folder: Path) -> None:
        agent = plain(str(trial.profile.document["agent"]["name"]))
        self._folder = folder
        self._files = {Phase.AGENT.value: f"agent/{agent}.txt", Phase.VERIFY.value: "verifier/test-stdout.txt"}
        self._begun = {phase: _begun(trial, phase) for phase in self._files} if trial.task.steps else {}

    def of(self, phase: str, at: datetime) -> Path:
        """The file of a line."""
        if phase not in self._files:
            return self._folder / "trial.log"
        begun = self._begun.get(phase) or []
        if not begun:
            return self._folder / self._files[phase]
        _, step = begun[max(bisect_right(begun, at, key=lambda one: one[0]) - 1, 0)]
        return self._folder / "steps" / step_folder(step) / self._files[phase]


def _begun(trial: Trial, phase: str) -> list[tuple[datetime, str]]:
    evidence = (item for item in trial.facts.evidence if item.phase == phase and item.detail.get("step"))
    return [(item.started_at, str(item.detail["step"])) for item in evidence]


def _phase_line(item: Evidence) -> str:
    step = f" {item.detail['step']}" if item.detail.get("step") else ""
    said = f": {item.detail['message']}" if item.detail.get("message") else ""
    seconds = (item.ended_at - item.started_at).total_seconds()
    return f"{item.started_at.isoformat()} {item.phase.value}{step}, {seconds:.3f} s{said}\n"


def _write_text(path: Path, text: str) -> None:
    """Add to a file as it was printed; on a terminal it is for the reader's pager to calm it."""
    with path.open("a", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
