"""Accounts of budgets in the database: drawing slices of them, settling calls, giving back.

An account is locked for a moment only, always after whatever else a transaction needs and always in the order of its
key, so that processes wait for one another and never for a circle. ``spent`` is the sum of the ledger's rows and
``held`` the sum of the slices, in every committed state; a slice is drawn only while both together leave room. What is
spent is kept, and not summed up at each draw, because a tenant's month has millions of rows; it can't drift, because a
row of the ledger and its sum are written in one transaction, and the ledger says first what a new account begins with.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.kernel.errors import IntegrityError
from proctor.models.calls import Payer
from proctor.models.codec import write_json
from proctor.models.ports import Budgets, Scope, ScopeKind
from proctor.models.spending.rows import Account, Settlement

__all__ = [
    "Ask",
    "CallContradicted",
    "Drawn",
    "Holder",
    "NoRoom",
    "OpenSlices",
    "Reported",
    "add_reported",
    "draw",
    "open_slices",
    "release_slices",
    "settle",
    "slices_of",
]

_run = partial(run_query, "proctor.models.spending")

SHARE: int = 8
"""Beyond what it needs, a process draws at most such a part of what is left, so that others find some too."""


class CallContradicted(IntegrityError):
    """A call was settled before, and otherwise."""

    code = "call-contradicted"


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The process that holds slices: how an operator knows it, and whose journal tells of them."""

    id: UUID
    host: str
    pid: int
    started: datetime


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What a process wants of a payer's budgets: ``least``, rather ``wanted``. ``given_back``: what becomes of slices
    that it holds already, as the amounts they are to have."""

    slice: UUID
    payer: Payer
    least: int
    wanted: int
    given_back: Mapping[UUID, int]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A slice. ``hard``: one of its budgets has a limit."""

    accounts: tuple[Account, ...]
    amount: int
    hard: bool


@dataclass(frozen=True, kw_only=True)
class NoRoom:
    """Which budget is in the way; ``for_good``: what is spent alone leaves no room."""

    scope: Scope
    for_good: bool


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What an attempt cost, by its agent's own word. ``id``: of its row of the ledger."""

    id: UUID
    payer: Payer
    nano: int


@dataclass(frozen=True, kw_only=True)
class OpenSlices:
    """What a process holds of a tenant's budgets."""

    process: UUID
    host: str
    pid: int
    process_started: datetime
    slices: int
    amount_nano: int
    drawn_at: datetime


@dataclass(frozen=True, kw_only=True)
class _Room:
    """What is in an account."""

    spent: int
    held: int


def draw(connection: Connection, tenant: UUID, holder: Holder, budgets: Budgets, ask: Ask) -> Drawn | NoRoom:
    """Draw a slice of all of a payer's budgets, or none. Safe to repeat under the same ``ask.slice``."""
    scopes = budgets.scopes(connection, ask.payer)
    hard = any(scope.limit_nano is not None for scope in scopes)
    drawn = _run(connection, "slice_of", tenant=tenant, slice=ask.slice).one_or_none()
    if drawn is not None:
        return Drawn(accounts=_accounts(drawn.accounts), amount=drawn.amount_nano, hard=hard)
    accounts = tuple(sorted(_account(scope) for scope in scopes))
    freed = _shrink(connection, tenant, ask.given_back)
    rooms = _opened(connection, tenant, {*accounts, *freed})
    for account, nano in freed.items():
        rooms[account] = _Room(spent=rooms[account].spent, held=rooms[account].held - nano)
    held = Counter({account: -nano for account, nano in freed.items()})
    tightest, amount = _share(scopes, rooms, ask)
    if tightest is None:
        _insert_slice(connection, tenant, holder, ask.slice, accounts, amount)
        held.update(dict.fromkeys(accounts, amount))
    _move(connection, tenant, spent={}, held=held)
    return tightest or Drawn(accounts=accounts, amount=amount, hard=hard)


def settle(
    connection: Connection,
    tenant: UUID,
    settlements: Sequence[Settlement],
    slices: Mapping[UUID, int],
    finished: Sequence[UUID] = (),
) -> set[str]:
    """Write calls that ended, charge their accounts, and shrink slices to the amounts given; ``finished``: of which
    nothing is left. Returns the ids of calls that were not written before. Safe to repeat.

    Raises ``CallContradicted``, and then nothing is written.
    """
    new = _insert_calls(connection, tenant, settlements)
    held = Counter({account: -nano for account, nano in _shrink(connection, tenant, slices).items()})
    if finished:
        _run(connection, "drop_slices", tenant=tenant, slices=list(finished))
    spent: Counter[Account] = Counter()
    for one in settlements:
        if one.row["id"] in new and one.row["charged_nano"]:
            spent.update(dict.fromkeys(one.accounts, one.row["charged_nano"]))
    if spent or held:
        _lock(connection, tenant, spent.keys() | held.keys())
        _move(connection, tenant, spent=spent, held=held)
    return new


def add_reported(connection: Connection, tenant: UUID, budgets: Budgets, reported: Sequence[Reported]) -> None:
    """Add what attempts cost by their agents' own words to the ledger and to the accounts of whoever pays. It was
    reserved by nobody, so it may go beyond a budget. Safe to repeat."""
    accounts = {one.id: [_account(scope) for scope in budgets.scopes(connection, one.payer)] for one in reported}
    _opened(connection, tenant, {account for several in accounts.values() for account in several})
    rows = [
        {
            "id": one.id,
            "run_set_id": one.payer.run_set,
            "attempt_id": one.payer.attempt,
            "nano": one.nano,
            "profile": one.payer.profile,
            "user_id": one.payer.user,
        }
        for one in reported
    ]
    new = set(_run(connection, "insert_reported", tenant=tenant, rows=json.dumps(rows, default=str)).scalars())
    spent: Counter[Account] = Counter()
    for one in reported:
        if one.id in new:
            spent.update(dict.fromkeys(accounts[one.id], one.nano))
    _move(connection, tenant, spent=spent, held={})


def open_slices(connection: Connection, tenant: UUID) -> list[OpenSlices]:
    """What processes hold of a tenant's budgets, the oldest first."""
    return [OpenSlices(**row._mapping) for row in _run(connection, "open_slices", tenant=tenant)]


def slices_of(connection: Connection, tenant: UUID, process: UUID) -> dict[UUID, tuple[int, tuple[Account, ...]]]:
    """A process's slices: the amount and the accounts of each."""
    rows = _run(connection, "slices_of_process", tenant=tenant, process=process)
    return {row.id: (row.amount_nano, _accounts(row.accounts)) for row in rows}


def release_slices(connection: Connection, tenant: UUID, process: UUID) -> int:
    """Give back all that a process holds, by an operator's word that it will not come back; returns nano-dollars."""
    held = slices_of(connection, tenant, process)
    settle(connection, tenant, (), dict.fromkeys(held, 0), list(held))
    return sum(amount for amount, _ in held.values())


def _share(scopes: Sequence[Scope], rooms: Mapping[Account, _Room], ask: Ask) -> tuple[NoRoom | None, int]:
    """How much of all budgets a process gets, or which of them has no room."""
    amount = ask.wanted
    full: list[NoRoom] = []
    for scope in sorted(scopes, key=_account):
        if scope.limit_nano is None:
            continue
        room = rooms[_account(scope)]
        left = scope.limit_nano - room.spent - room.held
        if ask.least > left and ask.least > 0:
            full.append(NoRoom(scope=scope, for_good=ask.least > scope.limit_nano - room.spent))
        amount = min(amount, ask.least + max(0, left - ask.least) // SHARE)
    return max(full, key=lambda one: one.for_good, default=None), max(amount, ask.least)


def _opened(connection: Connection, tenant: UUID, accounts: Iterable[Account]) -> dict[Account, _Room]:
    """Lock accounts, after opening those that are not there yet."""
    wanted = set(accounts)
    rooms = _lock(connection, tenant, wanted)
    if len(rooms) < len(wanted):
        _run(connection, "open_accounts", tenant=tenant, rows=_named(wanted))
        rooms = _lock(connection, tenant, wanted)
    return rooms


def _lock(connection: Connection, tenant: UUID, accounts: Iterable[Account]) -> dict[Account, _Room]:
    rows = _run(connection, "lock_accounts", tenant=tenant, rows=_named(accounts))
    return {Account(row.kind, row.key, row.period): _Room(spent=row.spent_nano, held=row.held_nano) for row in rows}


def _move(connection: Connection, tenant: UUID, *, spent: Mapping[Account, int], held: Mapping[Account, int]) -> None:
    rows = [
        {**account._asdict(), "spent": spent.get(account, 0), "held": held.get(account, 0)}
        for account in {*spent, *held}
        if spent.get(account) or held.get(account)
    ]
    if rows:
        _run(connection, "move_accounts", tenant=tenant, rows=json.dumps(rows))


def _shrink(connection: Connection, tenant: UUID, slices: Mapping[UUID, int]) -> Counter[Account]:
    """Make slices smaller; what each account gets back."""
    freed: Counter[Account] = Counter()
    if slices:
        rows = [{"id": str(id), "amount": amount} for id, amount in slices.items()]
        for row in _run(connection, "shrink_slices", tenant=tenant, rows=json.dumps(rows)):
            freed.update(dict.fromkeys(_accounts(row.accounts), row.freed))
    return freed


def _insert_slice(
    connection: Connection, tenant: UUID, holder: Holder, id: UUID, accounts: Sequence[Account], amount: int
) -> None:
    who = {"process": holder.id, "host": holder.host, "pid": holder.pid, "started": holder.started}
    _run(connection, "insert_slice", tenant=tenant, slice=id, accounts=json.dumps(accounts), amount=amount, **who)


def _insert_calls(connection: Connection, tenant: UUID, settlements: Sequence[Settlement]) -> set[str]:
    """Write calls and their money; the ids of those that were not there."""
    if not settlements:
        return set()
    rows = write_json([{**one.row, "period": _period(one.accounts)} for one in settlements]).decode()
    new = list(_run(connection, "insert_calls", tenant=tenant, rows=rows).scalars())
    known = {str(id) for id in new}
    repeated = [one.row["id"] for one in settlements if one.row["id"] not in known and not one.guessed]
    if repeated:
        contradicted = list(_run(connection, "contradicted_calls", tenant=tenant, rows=rows, ids=repeated).scalars())
        if contradicted:
            raise CallContradicted(f"Call {contradicted[0]} was settled before, and otherwise.")
    if new:
        _run(connection, "insert_call_money", tenant=tenant, rows=rows, ids=new)
    return known


def _period(accounts: Sequence[Account]) -> str:
    return next((account.period for account in accounts if account.period), "")


def _account(scope: Scope) -> Account:
    return Account(ScopeKind(scope.kind).value, scope.key, scope.period)


def _accounts(stored: Sequence[Sequence[Any]]) -> tuple[Account, ...]:
    return tuple(Account(*one) for one in stored)


def _named(accounts: Iterable[Account]) -> str:
    return json.dumps([account._asdict() for account in accounts])
