"""What tests of spending share: budgets with limits of the test's own, calls that cost what it says, the books."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Connection, text

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.models.calls import Call, End, Payer, Purpose
from proctor.models.conversation import TokenUsage
from proctor.models.ports import Reservation, Scope, ScopeKind
from proctor.models.wires.interfaces import WireName

__all__ = ["Books", "FixedBudgets", "books", "call_of"]


@dataclass
class FixedBudgets:
    """A tenant's month, and the run set, profile, job and user where the payer has them; no limit unless said."""

    month: str = "2026-12"
    limits: dict[ScopeKind, int] = field(default_factory=dict)

    def scopes(self, connection: Connection, payer: Payer) -> Sequence[Scope]:
        keys = {ScopeKind.TENANT: (str(payer.tenant), self.month)}
        if payer.user:
            keys[ScopeKind.USER] = (payer.user, self.month)
        if payer.run_set:
            keys[ScopeKind.RUN_SET] = (str(payer.run_set), "")
            if payer.profile:
                keys[ScopeKind.PROFILE] = (f"{payer.run_set}/{payer.profile}", "")
        if payer.job:
            keys[ScopeKind.JOB] = (str(payer.job), "")
        return [
            Scope(kind=kind, key=key, period=period, limit_nano=self.limits.get(kind))
            for kind, (key, period) in keys.items()
        ]


def call_of(reservation: Reservation, cost: int | None, *, end: End = End.DONE, answered: str = "m") -> Call:
    """As the gateway settles it."""
    return Call(
        id=new_id(),
        payer=reservation.payer,
        purpose=Purpose.AGENT,
        wire=WireName.OPENAI_CHAT,
        provider="mock",
        model="mock/m",
        answered=answered,
        key="default",
        end=end,
        http_status=200,
        code="",
        tries=1,
        started_at=datetime.now(UTC),
        seconds=0.5,
        first_byte_sec=0.1,
        usage=TokenUsage(
            input_tokens=1, cache_read_tokens=2, cache_write_tokens=None, output_tokens=3, reasoning_tokens=0
        ),
        cost_nano=cost,
        reserved_nano=reservation.nano,
        price_version="2026-12-01",
    )


@dataclass(frozen=True, kw_only=True)
class Books:
    """What the database has of a tenant's money."""

    spent: dict[str, int]
    """By kind of account, all periods and keys together."""
    held: dict[str, int]
    ledger: int
    charged: int
    calls: int
    slices: int


def books(database: Database, tenant: UUID) -> Books:
    """In one snapshot."""
    query = text("""
        SELECT (SELECT coalesce(json_object_agg(kind, spent), '{}') FROM (
                   SELECT kind, sum(spent_nano)::bigint AS spent FROM proctor.budget_account GROUP BY kind) s) AS spent,
               (SELECT coalesce(json_object_agg(kind, held), '{}') FROM (
                   SELECT kind, sum(held_nano)::bigint AS held FROM proctor.budget_account GROUP BY kind) h) AS held,
               (SELECT coalesce(sum(nano), 0)::bigint FROM proctor.ledger) AS ledger,
               (SELECT coalesce(sum(charged_nano), 0)::bigint FROM proctor.model_call) AS charged,
               (SELECT count(*) FROM proctor.model_call) AS calls,
               (SELECT coalesce(sum(amount_nano), 0)::bigint FROM proctor.budget_slice) AS slices
    """)
    return database.as_tenant(tenant, lambda connection: Books(**connection.execute(query).one()._mapping))
