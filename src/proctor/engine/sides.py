"""What a user calls a run set or a profile, and the sides of a comparison that it stands for. Reads only."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.errors import LabelUnknown, ReferenceInvalid, RunSetUnknown
from proctor.engine.pairs import Side, Tally, TaskCells, TaskKey
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import find_run_set
from proctor.suites import labels
from proctor.suites.service import StoredTask

__all__ = ["Reference", "find_reference", "read_heads", "read_sides"]

_run = partial(run_query, "proctor.engine")

_LABEL: str = "label:"
_NO_CELLS: str = "0:0"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A reference with the run set it leads to. ``profile`` ``None``: all of them."""

    text: str
    run_set: RunSetRow
    profile: str | None


def find_reference(connection: Connection, tenant: UUID, text: str) -> Reference:
    """The run set of ``RUN_SET``, ``RUN_SET:PROFILE``, ``label:NAME`` or ``label:NAME:PROFILE``, each label also plain.

    Raises ``LabelUnknown``, ``RunSetUnknown`` and ``ReferenceInvalid``.
    """
    labelled = text.startswith(_LABEL)
    name, colon, profile = text.removeprefix(_LABEL).partition(":")
    if not name or (colon and not profile) or ":" in profile:
        raise ReferenceInvalid(f"{text!r} is not a reference.")
    if labelled:
        row = find_run_set(connection, tenant, _target(connection, tenant, name))
    else:
        row = _run_set_or_label(connection, tenant, name)
    return Reference(text=text, run_set=row, profile=profile or None)


def _run_set_or_label(connection: Connection, tenant: UUID, name: str) -> RunSetRow:
    """A run set by its name or id; a label where no run set is called so."""
    try:
        return find_run_set(connection, tenant, name)
    except RunSetUnknown:
        labelled = labels.current(connection, tenant, labels.RUN_SET).get(name)
        if labelled is None:
            raise
        return find_run_set(connection, tenant, labelled)


def _target(connection: Connection, tenant: UUID, name: str) -> str:
    known = labels.current(connection, tenant, labels.RUN_SET)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise LabelUnknown(f"No run set has the label {name!r}.{hint}")
    return known[name]


def read_heads(connection: Connection, tenant: UUID, reference: Reference) -> list[Side]:
    """The profiles of a reference without their tasks, and without a mark of their cells.

    Raises ``ReferenceInvalid`` for a profile that the run set does not have.
    """
    row = reference.run_set
    profiles = _run(connection, "run_set_context", tenant=tenant, run_set=row.id).all()
    chosen = [one for one in profiles if reference.profile in (None, one.name)]
    if not chosen:
        names = ", ".join(one.name for one in profiles)
        raise ReferenceInvalid(f"{row.name} has no profile {reference.profile!r}; there are {names}.")
    return [
        Side(
            reference=reference.text,
            run_set=row.id,
            name=row.name,
            profile=profile.name,
            position=profile.position,
            configuration=profile.configuration,
            document=profile.document,
            policy_version=row.policy_version,
            tasks={},
            cells="",
        )
        for profile in chosen
    ]


def read_sides(
    connection: Connection, tenant: UUID, reference: Reference, tasks: Mapping[str, StoredTask]
) -> list[Side]:
    """The profiles of a reference with their tasks. ``tasks``: the run set's suite by content digest.

    Raises ``ReferenceInvalid`` for a profile that the run set does not have.
    """
    heads = read_heads(connection, tenant, reference)
    row = reference.run_set
    key = {"tenant": tenant, "run_set": row.id, "policy": row.policy_version}
    usage = {(one.profile, one.task): one for one in _run(connection, "usage_by_task", **key)}
    tallies: dict[tuple[int, str], list[Any]] = defaultdict(list)
    for one in _run(connection, "task_classes", **key):
        tallies[one.profile, one.content_digest].append(one)
    cells = {
        one.profile: f"{one.cells}:{one.mark}" for one in _run(connection, "cell_marks", tenant=tenant, run_set=row.id)
    }
    return [
        replace(head, tasks=_tasks(head.position, tallies, usage, tasks), cells=cells.get(head.position, _NO_CELLS))
        for head in heads
    ]


def _tasks(
    position: int,
    tallies: Mapping[tuple[int, str], Sequence[Any]],
    usage: Mapping[tuple[int, str], Any],
    stored: Mapping[str, StoredTask],
) -> dict[TaskKey, TaskCells]:
    found: dict[TaskKey, TaskCells] = {}
    for (profile, digest), rows in tallies.items():
        if profile == position:
            task, used = stored[digest], usage.get((profile, digest))
            found[task.agent_digest, task.verifier_digest] = TaskCells(
                name=task.name,
                tallies=tuple(_tally(row) for row in rows),
                cost_nano=int(used.cost) if used and used.priced == used.attempts else None,
                seconds=float(used.seconds) if used else None,
            )
    return found


def _tally(row: Any) -> Tally:
    outcome: str = row._mapping["class"]
    return Tally(outcome=outcome, owner=row.owner, verdict=row.verdict, cells=row.cells, withdrawn=row.withdrawn)
