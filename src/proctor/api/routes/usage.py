"""What a tenant uses, and what it may use."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from proctor.api.asking import Asked, needs
from proctor.engine.quotas import exceeded
from proctor.engine.usage import By, UsageRow, Used, usage, used_now
from proctor.identity.audit_log import Action, Actor, starters
from proctor.identity.permissions import Permission
from proctor.identity.quotas import Quota, quota_of, set_budget, set_quota, stored_bytes
from proctor.identity.service import find_tenant
from proctor.kernel.errors import UsageError

__all__ = ["router"]

router = APIRouter(tags=["usage"])
_Reads = Annotated[Asked, needs(Permission.USAGE_READ)]
_LARGEST = 1 << 62
_Amount = Annotated[int | None, Field(ge=0, le=_LARGEST)]


class Apart(StrEnum):
    """What usage may be told apart by."""

    TENANT = "tenant"
    USER = "user"
    RUN_SET = "run_set"
    PROFILE = "profile"
    MODEL = "model"


class UsageReport(BaseModel):
    """What was used from ``since`` to before ``until``."""

    since: datetime
    until: datetime
    by: Apart
    rows: list[UsageRow]


class Allowance(BaseModel):
    """What a tenant may use, what it uses, and which quotas it is over: its work is then served after the others'."""

    quota: Quota
    used: Used
    stored_bytes: int | None = Field(description="When it was last measured, within ten minutes; null: not yet.")
    over: list[str]


class QuotaChange(BaseModel):
    """All quotas of a tenant; what is left out is unlimited."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"evaluations_per_day": 100000}]})

    evaluations_per_day: _Amount = None
    cost_month_nano: _Amount = Field(default=None, description="In nano-dollars.")
    storage_bytes: _Amount = None
    sandboxes: _Amount = Field(default=None, description="Attempts that run at once.")


class BudgetChange(BaseModel):
    """The tenant's own hard budget."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"month_nano": 500000000000}]})

    month_nano: _Amount = Field(description="In nano-dollars a month (UTC); null: none.")


class TimeInvalid(UsageError):
    """Usage is told from one time to a later one."""

    code = "usage-time"
    remedy = "Let `since` be before `until`."


@router.get(
    "/usage",
    response_model=UsageReport,
    responses={200: {"content": {"application/json": {}, "text/csv": {}}, "description": "The rows, dearest first."}},
)
def show_usage(
    asked: _Reads,
    by: Annotated[Apart, Query(description="What it is told apart by.")] = Apart.RUN_SET,
    since: Annotated[AwareDatetime | None, Query(description="30 days ago without.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Now without.")] = None,
    as_csv: Annotated[bool, Query(description="As CSV instead of JSON.")] = False,
) -> Response:
    """Attempts, sandbox seconds and cost."""
    end = until or datetime.now(UTC)
    begin = since or end - timedelta(days=30)
    if begin >= end:
        raise TimeInvalid(where="since")
    rows = asked.server.database.as_tenant(asked.tenant, lambda c: _rows(c, asked, by, begin, end))
    report = UsageReport(since=begin, until=end, by=by, rows=list(rows))
    if as_csv:
        return Response(_csv(rows), media_type="text/csv; charset=utf-8")
    return Response(report.model_dump_json(), media_type="application/json")


def _rows(connection: Connection, asked: Asked, by: Apart, since: datetime, until: datetime) -> Sequence[UsageRow]:
    if by is not Apart.USER:
        return usage(connection, asked.tenant, By(by.value), since=since, until=until)
    who = starters(connection, asked.tenant)
    found: dict[str, list[UsageRow]] = defaultdict(list)
    for row in usage(connection, asked.tenant, By.RUN_SET, since=since, until=until, limit=100_000):
        found[who.get(row.key, "")].append(row)
    return sorted((_sum(user, rows) for user, rows in found.items()), key=lambda row: -row.cost_nano)


def _sum(user: str, rows: Sequence[UsageRow]) -> UsageRow:
    return UsageRow(
        key=user,
        name=user or "nobody on this server",
        attempts=sum(row.attempts for row in rows),
        sandbox_sec=sum(row.sandbox_sec for row in rows),
        cost_nano=sum(row.cost_nano for row in rows),
        unpriced=sum(row.unpriced for row in rows),
    )


def _csv(rows: Sequence[UsageRow]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    names = list(UsageRow.__dataclass_fields__)
    writer.writerow(names)
    writer.writerows([_plain(getattr(row, name)) for name in names] for row in rows)
    return out.getvalue()


def _plain(value: object) -> object:
    """A name that a spreadsheet would take for a formula is told as a text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


@router.get("/allowance")
def show_allowance(asked: _Reads) -> Allowance:
    """What the tenant may use, and how far it is."""

    def work(connection: Connection) -> Allowance:
        quota, used = quota_of(connection, asked.tenant), used_now(connection, asked.tenant)
        stored = stored_bytes(connection, asked.tenant)
        return Allowance(quota=quota, used=used, stored_bytes=stored, over=list(exceeded(quota, used, stored)))

    return asked.server.database.as_tenant(asked.tenant, work)


@router.put("/budget")
def change_budget(asked: Annotated[Asked, needs(Permission.TENANT_WRITE)], body: BudgetChange) -> Quota:
    """Set what the tenant spends in a month at the most; null takes it away."""
    return asked.server.database.as_tenant(
        asked.tenant, lambda c: set_budget(c, asked.tenant, asked.actor, body.month_nano)
    )


@router.put("/tenants/{tenant}/quota")
def change_quota(
    asked: Annotated[Asked, needs(Permission.PLATFORM)],
    tenant: Annotated[str, Path(min_length=1, max_length=63, description="A tenant's name.")],
    body: QuotaChange,
) -> Quota:
    """Set what a tenant may use, as an administrator of the installation."""
    database, quota = asked.server.database, Quota(**body.model_dump())
    identity = find_tenant(database, tenant)
    changed = database.as_tenant(identity, lambda c: set_quota(c, identity, Actor(request_id=asked.request_id), quota))
    asked.note(Action.QUOTA_SET, tenant)
    return changed
