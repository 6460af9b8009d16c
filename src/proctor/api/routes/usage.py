"""What a tenant uses, and what it may use."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.engine.usage import UsageRow
from proctor.identity.audit_log import Action, Actor
from proctor.identity.permissions import Permission
from proctor.identity.quotas import (
    Quota,
    UserBudget,
    quota_of,
    set_budget,
    set_quota,
    set_user_budget,
    user_budget,
    user_budgets,
)
from proctor.identity.service import find_tenant
from proctor.identity.users import find_user
from proctor.models.calls import End
from proctor.models.spending.reading import CallRow, CallsWanted
from proctor.sdk.usage import Allowance, Apart, UsageReport, installation_usage
from proctor.sdk.usage import as_csv as written_csv

__all__ = ["router"]

router = APIRouter(tags=["usage"])
_Reads = Annotated[Asked, needs(Permission.USAGE_READ)]
_LARGEST = 1 << 62
_Amount = Annotated[int | None, Field(ge=0, le=_LARGEST)]


class QuotaChange(BaseModel):
    """All quotas of a tenant; what is left out is unlimited."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"evaluations_per_day": 100000}]})

    evaluations_per_day: _Amount = None
    cost_month_nano: _Amount = Field(default=None, description="In nano-dollars.")
    storage_bytes: _Amount = None
    sandboxes: _Amount = Field(default=None, description="Attempts that run at once.")


class BudgetChange(BaseModel):
    """A hard budget: the tenant's own, or a user's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"month_nano": 500000000000}]})

    month_nano: _Amount = Field(description="In nano-dollars a month (UTC); null: none.")


@router.get(
    "/usage",
    response_model=UsageReport,
    responses={200: {"content": {"application/json": {}, "text/csv": {}}, "description": "The rows, dearest first."}},
)
@slowly
def show_usage(
    asked: _Reads,
    by: Annotated[Apart, Query(description="What it is told apart by.")] = Apart.RUN_SET,
    since: Annotated[AwareDatetime | None, Query(description="30 days ago without.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Now without.")] = None,
    as_csv: Annotated[bool, Query(description="As CSV instead of JSON.")] = False,
) -> Response:
    """Attempts, sandbox seconds and cost."""
    return _told(asked.client.usage.report(by, since=since, until=until), as_csv=as_csv)


@router.get(
    "/tenants/usage",
    response_model=UsageReport,
    responses={200: {"content": {"application/json": {}, "text/csv": {}}, "description": "The rows, dearest first."}},
)
@slowly
def show_usage_of_tenants(
    asked: Annotated[Asked, needs(Permission.PLATFORM)],
    since: Annotated[AwareDatetime | None, Query(description="30 days ago without.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Now without.")] = None,
    as_csv: Annotated[bool, Query(description="As CSV instead of JSON.")] = False,
) -> Response:
    """Attempts, sandbox seconds and cost of every tenant, for administrators of the installation."""
    return _told(installation_usage(asked.server.database, since=since, until=until), as_csv=as_csv)


def _told(report: UsageReport, *, as_csv: bool) -> Response:
    if as_csv:
        return Response(written_csv(UsageRow, report.rows), media_type="text/csv; charset=utf-8")
    return answered(report)


@router.get("/ledger", response_model=Page[CallRow])
def show_ledger(
    asked: _Reads,
    paging: Paging,
    run_set: Annotated[UUID | None, Query(description="Only of this run set.")] = None,
    attempt: Annotated[UUID | None, Query(description="Only of this attempt.")] = None,
    model: Annotated[
        str | None, Query(max_length=500, description="Only of this model, as it was asked for: provider/model.")
    ] = None,
    end: Annotated[End | None, Query(description="Only those that ended so.")] = None,
) -> Response:
    """Calls of models, the newest first: who paid, which model, how it ended, what it cost."""
    (before,) = paging.place(UUID) or (None,)
    wanted = CallsWanted(run_set=run_set, attempt=attempt, model=model, end=end)
    found = asked.client.usage.ledger(wanted, before=before, limit=paging.limit)
    return answered(paging.page(found, lambda row: [row.id]))


@router.get("/allowance")
@slowly
def show_allowance(asked: _Reads) -> Allowance:
    """What the tenant may use, and how far it is."""
    return asked.client.usage.allowance()


@router.put("/budget")
def change_budget(asked: Annotated[Asked, needs(Permission.TENANT_WRITE)], body: BudgetChange) -> Quota:
    """Set what the tenant spends in a month at the most; null takes it away."""
    return asked.server.database.as_tenant(
        asked.tenant, lambda c: set_budget(c, asked.tenant, asked.actor, body.month_nano)
    )


@router.get("/user-budgets", response_model=Page[UserBudget])
def list_user_budgets(asked: _Reads, paging: Paging) -> Response:
    """Users who have a budget of their own, in the order in which they were made."""
    (after,) = paging.place(UUID) or (None,)
    found = asked.server.database.as_tenant(
        asked.tenant, lambda c: user_budgets(c, asked.tenant, after=after, limit=paging.limit)
    )
    return answered(paging.page(found, lambda one: [one.id]))


@router.get("/users/{user}/budget")
def show_user_budget(asked: _Reads, user: UUID) -> UserBudget:
    """What a user may spend in a month at the most; null: as much as the tenant may."""

    def work(connection: Connection) -> UserBudget:
        whose = find_user(connection, asked.tenant, user)
        return UserBudget(id=user, name=whose.name, month_nano=user_budget(connection, asked.tenant, user))

    return asked.server.database.as_tenant(asked.tenant, work)


@router.put("/users/{user}/budget")
def change_user_budget(
    asked: Annotated[Asked, needs(Permission.TENANT_WRITE)], user: UUID, body: BudgetChange
) -> UserBudget:
    """Set what a user may spend in a month at the most; null takes it away."""

    def work(connection: Connection) -> UserBudget:
        whose = find_user(connection, asked.tenant, user)
        return set_user_budget(connection, asked.tenant, asked.actor, whose, body.month_nano)

    return asked.server.database.as_tenant(asked.tenant, work)


@router.get("/tenants/{tenant}/quota")
def show_quota(
    asked: Annotated[Asked, needs(Permission.PLATFORM)],
    tenant: Annotated[str, Path(min_length=1, max_length=63, description="A tenant's name.")],
) -> Quota:
    """What a tenant may use, for administrators of the installation."""
    identity = find_tenant(asked.server.database, tenant)
    return asked.server.database.as_tenant(identity, lambda c: quota_of(c, identity))


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
