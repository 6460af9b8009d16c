"""The entries that a sum of spend is made of, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.outcomes import Owner
from proctor.engine.spend.sums import Times

__all__ = ["EntriesWanted", "EntryPlace", "SpendEntry", "entries"]

_run = partial(run_query, "proctor.engine.spend")


@dataclass(frozen=True, kw_only=True)
class EntriesWanted:
    """Which entries. What is ``None`` fits all; what is empty fits those that have none."""

    run_set: UUID | Literal[""] | None = None
    profile: str | None = None
    provider: str | None = None
    model: str | None = None
    kind: str | None = None
    user: str | None = None
    owner: Owner | None = None
    """Only of attempts that ended without a verdict, and whose that is."""
    unpriced: bool | None = None

    @property
    def asked(self) -> Mapping[str, object]:
        """As the statement takes it."""
        run_set = None if self.run_set is None else str(self.run_set)
        return {**asdict(self), "run_set": run_set, "owner": None if self.owner is None else self.owner.value}


class EntryPlace(NamedTuple):
    """Where a page begins: after the entry of that moment and id."""

    at: datetime
    id: UUID


@dataclass(frozen=True, kw_only=True)
class SpendEntry:
    """A call of a model, or an attempt none of whose calls came by us (of the kind ``reported``). Null is not known."""

    id: UUID
    at: datetime
    kind: str
    run_set_id: UUID | None
    run_set: str | None
    attempt_id: UUID | None
    profile: str
    model: str
    cost_nano: int | None
    assumed_nano: int
    """What the budgets count for it where nobody knows its cost."""
    ended_as: str | None
    http_status: int | None
    seconds: float | None
    input_tokens: int | None
    output_tokens: int | None
    outcome: str | None
    """The class of its attempt; null where that has none yet, or there is no attempt."""
    owner: str | None


def entries(
    connection: Connection,
    tenant: UUID,
    times: Times,
    wanted: EntriesWanted,
    *,
    before: EntryPlace | None = None,
    limit: int = 100,
) -> Sequence[SpendEntry]:
    """A page, the newest first."""
    at, identity = before or (None, None)
    asked = {"tenant": tenant, **times._asdict(), **wanted.asked, "before_at": at, "before_id": identity}
    return [SpendEntry(**row._mapping) for row in _run(connection, "spent_entries", limit=limit, **asked)]
