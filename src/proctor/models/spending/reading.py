"""Reading the ledger's calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select

from proctor.models.calls import End
from proctor.models.ports import ScopeKind
from proctor.models.spending.models import budget_account, model_call

__all__ = ["CallRow", "CallsWanted", "calls", "spent_by_job"]


@dataclass(frozen=True, kw_only=True)
class CallsWanted:
    """Which calls. What is ``None`` fits all. ``model``: as it was asked for, ``provider/model``."""

    run_set: UUID | None = None
    attempt: UUID | None = None
    model: str | None = None
    end: End | None = None


@dataclass(frozen=True, kw_only=True)
class CallRow:
    """A call of a model: who paid, what was asked, what became of it. Money is in nano-dollars; null is not known."""

    id: UUID
    started_at: datetime
    run_set_id: UUID | None
    attempt_id: UUID | None
    profile: str
    user_id: str
    purpose: str
    provider: str
    model: str
    answered: str
    key: str
    ended_as: str
    http_status: int | None
    code: str
    tries: int
    seconds: float
    first_byte_sec: float | None
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_nano: int | None
    reserved_nano: int | None
    charged_nano: int | None
    price_version: str
    overrun: bool


def calls(
    connection: Connection, tenant: UUID, wanted: CallsWanted, *, before: UUID | None = None, limit: int = 100
) -> list[CallRow]:
    """A page, the newest first; ``before``: only those made before that one."""
    table = model_call.c
    fields = CallRow.__dataclass_fields__
    query = select(*(table[name] for name in fields)).where(table.tenant_id == tenant)
    if wanted.run_set is not None:
        query = query.where(table.run_set_id == wanted.run_set)
    if wanted.attempt is not None:
        query = query.where(table.attempt_id == wanted.attempt)
    if wanted.model is not None:
        query = query.where(table.model == wanted.model)
    if wanted.end is not None:
        query = query.where(table.ended_as == wanted.end.value)
    if before is not None:
        query = query.where(table.id < before)
    rows = connection.execute(query.order_by(table.id.desc()).limit(limit))
    return [CallRow(**row._mapping) for row in rows]


def spent_by_job(connection: Connection, tenant: UUID, job: UUID) -> int:
    """Nano-dollars that calls of an evaluation job have cost, those that are settled; 0 where none was made."""
    account = budget_account.c
    mine = (account.tenant_id == tenant, account.kind == ScopeKind.JOB.value, account.key == str(job))
    return int(connection.execute(select(func.coalesce(func.sum(account.spent_nano), 0)).where(*mine)).scalar_one())
