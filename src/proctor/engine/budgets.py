"""Which budgets a call of a model comes under: the tenant's month, its user's month, its run set, its profile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.identity.quotas import quota_of, user_budget
from proctor.kernel.money import parse_usd
from proctor.models.calls import Payer
from proctor.models.ports import Scope, ScopeKind

__all__ = ["EngineBudgets"]

_run = partial(run_query, "proctor.engine")


class EngineBudgets:
    """``Budgets`` of a tenant's quota, of its users and of its run sets' files, with the limits that hold now."""

    def scopes(self, connection: Connection, payer: Payer) -> Sequence[Scope]:
        """As the port has it. Months are the database's clock's."""
        month = _run(connection, "this_month").scalar_one()
        tenant = quota_of(connection, payer.tenant).budget_month_nano
        scopes = [Scope(kind=ScopeKind.TENANT, key=str(payer.tenant), period=month, limit_nano=tenant)]
        if payer.user:
            own = user_budget(connection, payer.tenant, UUID(payer.user))
            scopes.append(Scope(kind=ScopeKind.USER, key=payer.user, period=month, limit_nano=own))
        return scopes + (_of_run_set(connection, payer, payer.run_set) if payer.run_set else [])


def _of_run_set(connection: Connection, payer: Payer, run_set: UUID) -> list[Scope]:
    limits = _run(
        connection, "run_set_budgets", tenant=payer.tenant, run_set=run_set, profile=payer.profile
    ).one_or_none()
    whole, own = (None, None) if limits is None else (limits.whole, limits.profile)
    scopes = [Scope(kind=ScopeKind.RUN_SET, key=str(run_set), period="", limit_nano=_nano(whole))]
    if payer.profile:
        key = f"{run_set}/{payer.profile}"
        scopes.append(Scope(kind=ScopeKind.PROFILE, key=key, period="", limit_nano=_nano(own)))
    return scopes


def _nano(amount: str | None) -> int | None:
    return None if amount is None else parse_usd(amount)
