"""What is left of processes that were killed: their journals, and the slices that they held.

A call that ended is settled exactly as it ended. One that was begun and has no end may have cost all that was reserved
for it, and is charged so. The rest of the slices is given back, unless the machine was started anew since: then the
journal's last lines may be missing, so the rest stays held, for an operator to release (``open_slices`` lists it).

A dead process's file can be locked, a living one's can't; whoever has the lock reconciles, and removes the file at the
end. All of it may be repeated: a call has one row, under its own id and under its reservation's.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.kernel.ids import dated_id, derived_id
from proctor.models.calls import Payer
from proctor.models.spending.accounts import CallContradicted, settle, slices_of
from proctor.models.spending.journal import SUFFIX, boot_id
from proctor.models.spending.rows import Account, Settlement, abandoned_row

__all__ = ["Reconciled", "reconcile"]

_log = structlog.get_logger(__name__)

MOST_BYTES: int = 2**30
"""A longer file is no journal of ours."""


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What one dead process had left: calls that ended, calls without an end, and nano-dollars given back."""

    process: UUID
    ended: int
    abandoned: int
    given_back_nano: int


@dataclass(kw_only=True)
class _Story:
    """A journal, read."""

    process: UUID
    same_boot: bool
    tenants: set[UUID] = field(default_factory=set)
    accounts: dict[UUID, tuple[Account, ...]] = field(default_factory=dict)
    begun: dict[int, dict[str, Any]] = field(default_factory=dict)
    ended: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Told:
    """A call as the journal tells of it."""

    slice: UUID
    row: Mapping[str, Any]
    guessed: bool


def reconcile(database: Database, folder: Path) -> list[Reconciled]:
    """Take in what dead processes of this machine left in the folder. Any process may call it, at any time."""
    found: list[Reconciled] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with _seized(path) as lines:
            if lines is None:
                continue
            try:
                found += _taken_in(database, lines)
            except CallContradicted as error:
                _log.error("spending.journal_contradicts", file=str(path), reason=str(error))
                continue
            path.with_suffix(".new").unlink(missing_ok=True)
            path.unlink()
    return found


@contextmanager
def _seized(path: Path) -> Iterator[list[bytes] | None]:
    """The lines of a dead process's journal, locked; ``None``: it lives, or somebody else has it, or had."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here = os.stat(path)
        same = (here.st_dev, here.st_ino) == ((own := os.fstat(file)).st_dev, own.st_ino)
        with os.fdopen(os.dup(file), "rb") as opened:
            yield opened.read(MOST_BYTES).split(b"\n") if same else None
    except (BlockingIOError, FileNotFoundError):
        yield None
    finally:
        os.close(file)


def _taken_in(database: Database, lines: list[bytes]) -> list[Reconciled]:
    story = _read(lines)
    if story is None:  # killed before its first line was whole: it had done nothing
        return []
    ended = abandoned = given_back = 0
    for tenant in sorted(story.tenants):
        settlements = _settlements(story, tenant)
        given_back += database.as_tenant(tenant, partial(_settle, tenant=tenant, story=story, calls=settlements))
        ended += sum(not one.guessed for one in settlements)
        abandoned += sum(one.guessed for one in settlements)
    _log.warning("spending.reconciled", process=str(story.process), ended=ended, abandoned=abandoned, nano=given_back)
    return [Reconciled(process=story.process, ended=ended, abandoned=abandoned, given_back_nano=given_back)]


def _read(lines: list[bytes]) -> _Story | None:
    story: _Story | None = None
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:  # torn: its writer was killed, or its disk was full
            continue
        if said["t"] == "head":
            story = _Story(process=UUID(said["process"]), same_boot=said["boot"] == boot_id())
        elif story is not None:
            _take(story, said)
    return story


def _take(story: _Story, said: dict[str, Any]) -> None:
    match said["t"]:
        case "slice":
            story.tenants.add(UUID(said["tenant"]))
            if said["accounts"] is not None:
                story.accounts[UUID(said["slice"])] = tuple(Account(*one) for one in said["accounts"])
        case "begin":
            story.begun[said["r"]] = said
        case "end":
            story.ended[said["r"]] = said["row"]
        case "undo":
            story.begun.pop(said["r"], None)


def _settlements(story: _Story, tenant: UUID) -> list[_Told]:
    """Every call that the journal has, whether it was written or not."""
    mine = {number: said for number, said in story.begun.items() if said["tenant"] == str(tenant)}
    return [
        _Told(
            slice=UUID(said["slice"]),
            row=story.ended.get(number) or _abandoned(story.process, tenant, number, said),
            guessed=number not in story.ended,
        )
        for number, said in mine.items()
    ]


def _abandoned(process: UUID, tenant: UUID, number: int, said: dict[str, Any]) -> dict[str, Any]:
    reservation, begun_at = derived_id("reservation", process, number), datetime.fromisoformat(said["at"])
    return abandoned_row(
        id=dated_id(begun_at, "abandoned", reservation),
        reservation=reservation,
        payer=Payer(
            tenant=tenant,
            run_set=said["run_set"] and UUID(said["run_set"]),
            profile=said["profile"],
            user=said["user"],
            attempt=said["attempt"] and UUID(said["attempt"]),
        ),
        model=said["model"],
        reserved=said["nano"],
        started_at=begun_at,
    )


def _settle(connection: Connection, *, tenant: UUID, story: _Story, calls: list[_Told]) -> int:
    """Write the calls, and let go of the slices or of what was charged of them; what was given back in all."""
    held = slices_of(connection, tenant, story.process)
    accounts = {id: accounts for id, (_, accounts) in held.items()} | story.accounts
    rows = [Settlement(row=one.row, accounts=accounts.get(one.slice, ()), guessed=one.guessed) for one in calls]
    new = settle(connection, tenant, rows, {})
    charged: Counter[UUID] = Counter()
    for one in calls:
        if one.row["id"] in new:
            charged[one.slice] += one.row["charged_nano"] or 0
    kept = {id: 0 if story.same_boot else max(0, amount - charged[id]) for id, (amount, _) in held.items()}
    settle(connection, tenant, (), kept, list(held))
    return sum(amount for amount, _ in held.values()) - charged.total() - sum(kept.values())
