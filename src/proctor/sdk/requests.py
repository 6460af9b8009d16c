"""What a caller may ask of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.service import OnMoved, Selection
from proctor.engine.spec import RunSetSpec, check_spec, spec_document
from proctor.kernel.canonical import digest
from proctor.kernel.errors import UsageError

__all__ = ["RunRequest", "spec_of_tasks"]


class ChoiceConflict(UsageError):
    """Two options contradict each other."""

    code = "choice-conflict"
    remedy = "Give one of them."


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The options of ``proctor run``."""

    limit: int | None = None
    task: str | None = None
    only_owed: bool = False
    fresh: bool = False
    go_on: bool = False
    new: bool = False
    dry_run: bool = False

    @property
    def on_moved(self) -> OnMoved:
        """What to do when the file resolves to something else. Raises ``ChoiceConflict``."""
        if self.fresh and self.only_owed:
            raise ChoiceConflict("A fresh run set owes nothing yet.", where="--fresh and --only owed")
        if self.go_on and self.new:
            raise ChoiceConflict(where="--continue and --new")
        if self.go_on:
            return OnMoved.CONTINUE
        return OnMoved.NEW if self.new else OnMoved.ASK

    @property
    def selection(self) -> Selection:
        """Which cells to work on now."""
        return Selection(limit=self.limit, task_glob=self.task, only_owed=self.only_owed)


def spec_of_tasks(tasks: str, agents: Sequence[str], *, trials: int) -> tuple[RunSetSpec, str]:
    """A run set without a file, and what it is known by: agents that need no settings over a folder or suite."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", Path(tasks).name).lstrip("._-") or "run"
    profiles = [{"name": agent, "agent": agent} for agent in agents]
    document = {"name": name[:100], "suite": tasks, "trials": trials, "profiles": profiles}
    spec = check_spec(document, where="--agent")
    return spec, digest(spec_document(spec))
