"""A job directory, written cell by cell into a folder that is there for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

import proctor
from proctor.engine.exporting import AttemptFacts
from proctor.engine.leaderboards import LeaderboardRow
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow
from proctor.kernel.canonical import Json
from proctor.reports.harbor.inputs import ExportedProfile, ExportedTask, trial_inputs, trial_lock
from proctor.reports.harbor.json_files import document, members, write_chunks, write_json
from proctor.reports.harbor.ours import (
    FORMAT,
    READINGS,
    Gap,
    Tallies,
    cell_line,
    profile_document,
    run_set_document,
)
from proctor.reports.harbor.stats import StatsLedger
from proctor.reports.harbor.trial_folder import Kept, write_trial
from proctor.reports.harbor.trials import Trial

__all__ = ["Export", "Exported", "Gap", "JobWriter", "Kept"]


@dataclass(frozen=True, kw_only=True)
class Export:
    """What is exported. ``folder``: where it will be, whole and absolute; ``at``: when it is written."""

    run_set: RunSetRow
    folder: Path
    at: datetime
    profiles: Mapping[int, ExportedProfile]
    tasks: Mapping[str, ExportedTask]
    trials: int
    concurrency: int


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written: a trial for each cell that has an attempt, and what is owed."""

    trials: int
    expected: int
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, kw_only=True)
class _Files:
    """What is open while a job is written."""

    folder: Path
    stats: StatsLedger
    cells: TextIO
    locks: TextIO


class JobWriter:
    """Writes a job into a folder. ``finish`` completes it; without that it is of no use."""

    def __init__(self, export: Export, files: _Files, kept: Kept) -> None:
        self._export, self._kept = export, kept
        self._folder, self._stats = files.folder, files.stats
        self._cells, self._locks = files.cells, files.locks
        self._tallies = Tallies()

    @classmethod
    @contextmanager
    def open(cls, filling: Path, export: Export, kept: Kept) -> Iterator[JobWriter]:
        """A writer into ``filling``, an empty folder."""
        with ExitStack() as stack:
            stats = StatsLedger(filling / ".lists")
            stack.callback(stats.close)
            cells = stack.enter_context((filling / "proctor-cells.jsonl").open("x", encoding="ascii"))
            locks = stack.enter_context((filling / "lock.json").open("x", encoding="ascii"))
            write_json(filling / "config.json", _job_config(export))
            locks.write(json.dumps(_lock_head(export), indent=4).removesuffix("\n}") + ',\n    "trials": [')
            yield cls(export, _Files(folder=filling, stats=stats, cells=cells, locks=locks), kept)

    def add(self, cell: CellRow, facts: AttemptFacts | None) -> bool:
        """One more cell; whether it became a trial. A withdrawn one does not: Harbor would count it."""
        profile, task = self._export.profiles[cell.profile], self._export.tasks[cell.content_digest]
        self._tallies.add(cell)
        trial = None
        if facts is not None and cell.withdrawn is None:
            trial = self._trial(cell, facts, profile, task)
            self._write(trial)
        line = cell_line(cell, profile, task, None if trial is None else trial.name)
        self._cells.write(json.dumps(line, allow_nan=False) + "\n")
        return trial is not None

    def _trial(self, cell: CellRow, facts: AttemptFacts, profile: ExportedProfile, task: ExportedTask) -> Trial:
        return Trial(
            run_set=self._export.run_set.id,
            policy_version=self._export.run_set.policy_version,
            folder=self._export.folder,
            profile=profile,
            task=task,
            cell=cell,
            facts=facts,
        )

    def _write(self, trial: Trial) -> None:
        result = write_trial(trial, self._folder, self._kept)
        mode = None if trial.facts.grading is None else trial.facts.grading.mode
        self._locks.write("," if self._stats.trials else "")
        self._locks.write("\n" + json.dumps(trial_lock(trial.task, trial.profile, mode)))
        self._stats.add(result, retries=max(len(trial.facts.tries) - 1, 0))

    def finish(self, rows: Sequence[LeaderboardRow]) -> Exported:
        """Write what is of all cells together. ``rows``: the run set's leaderboard."""
        self._locks.write("]}\n")
        write_chunks(self._folder / "result.json", self._result())
        write_json(self._folder / "proctor.json", self._ours(rows))
        return Exported(
            trials=self._stats.trials,
            expected=self._tallies.expected,
            gaps=self._tallies.gaps(self._export.profiles),
        )

    def _result(self) -> Iterator[str]:
        """``JobResult``."""
        row = self._export.run_set
        ended = None if row.ended_at is None else row.ended_at.isoformat()
        facts: dict[str, Json] = {
            "schema_version": 1,
            "id": str(row.id),
            "started_at": row.created_at.isoformat(),
            "updated_at": ended or self._export.at.isoformat(),
            "finished_at": ended,
            "n_total_trials": self._tallies.expected,
        }
        stats = self._stats.chunks(expected=self._tallies.expected)
        return members([*((name, document(value)) for name, value in facts.items()), ("stats", stats)])

    def _ours(self, rows: Sequence[LeaderboardRow]) -> dict[str, Json]:
        boards = {row.profile: row for row in rows}
        return {
            "format": FORMAT,
            "proctor_version": proctor.__version__,
            "exported_at": self._export.at.isoformat(),
            "run_set": run_set_document(self._export.run_set),
            "cells": "proctor-cells.jsonl",
            "readings": READINGS,
            "profiles": [
                profile_document(
                    profile, self._tallies.rates(place), self._tallies.classes(place), boards.get(profile.name)
                )
                for place, profile in self._export.profiles.items()
            ],
        }


def _job_config(export: Export) -> dict[str, Json]:
    """``JobConfig``. Timeouts and resources are the run set's policy, so all its profiles have the same."""
    profiles = list(export.profiles.values())
    return {
        "schema_version": 1,
        "job_name": export.folder.name,
        "jobs_dir": str(export.folder.parent),
        "n_attempts": export.trials,
        "n_concurrent_trials": export.concurrency,
        "agents": [profile.agent_config() for profile in profiles],
        **trial_inputs(profiles[0]),
        "tasks": [task.config() for task in export.tasks.values()],
    }


def _lock_head(export: Export) -> dict[str, Json]:
    """``JobLock`` without its trials. No Harbor ran this, so its version is not known."""
    return {
        "schema_version": 3,
        "created_at": export.at.isoformat(),
        "harbor": {"version": None, "git_commit_hash": None, "is_editable": None},
        "n_concurrent_trials": export.concurrency,
        "retry": {},
    }
