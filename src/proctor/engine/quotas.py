"""Quotas at work: a tenant over one of them is served after the others, and one over its budget starts nothing."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.engine import reading
from proctor.engine.recording import KIND
from proctor.engine.service import EngineService
from proctor.engine.usage import Used, used_now
from proctor.identity.quotas import Quota, quota_of, stored_bytes
from proctor.kernel.errors import UsageError
from proctor.kernel.money import format_usd
from proctor.queue import service as queue

__all__ = ["BudgetUsed", "exceeded", "keep_quotas", "refuse_over_budget"]


class BudgetUsed(UsageError):
    """The tenant's budget of this month is used up."""

    code = "budget-used"
    remedy = "An owner may raise it with `proctor budget`; it begins anew with the month (UTC)."


def exceeded(quota: Quota, used: Used, stored: int | None) -> tuple[str, ...]:
    """Which quotas a tenant is over, by their names; what is not measured yet is over none."""
    pairs = {
        "evaluations_per_day": (quota.evaluations_per_day, used.evaluations_today),
        "cost_month_nano": (quota.cost_month_nano, used.cost_month_nano),
        "storage_bytes": (quota.storage_bytes, stored),
        "sandboxes": (quota.sandboxes, used.sandboxes),
    }
    return tuple(name for name, (most, now) in pairs.items() if most is not None and now is not None and now >= most)


def keep_quotas(database: Database, tenant: UUID) -> tuple[str, ...]:
    """Have the queue serve a tenant as its quota says, and pause what may spend no more; which quotas it is over."""

    def work(connection: Connection) -> tuple[tuple[str, ...], str | None, list[UUID]]:
        quota = quota_of(connection, tenant)
        if quota == Quota():  # nothing is counted that nothing depends on
            queue.set_over_quota(connection, tenant, KIND, over_quota=False)
            return (), None, []
        used = used_now(connection, tenant)
        over = exceeded(quota, used, stored_bytes(connection, tenant))
        queue.set_over_quota(connection, tenant, KIND, over_quota=bool(over))
        reason = _over_budget(quota, used)
        running = reading.run_sets(connection, tenant, state="running", limit=1000) if reason else []
        return over, reason, [row.id for row in running]

    over, reason, running = database.as_tenant(tenant, work)
    engine = EngineService(database, tenant)
    for run_set in running:
        engine.finish(run_set, paused_reason=reason)
    return over


def refuse_over_budget(database: Database, tenant: UUID) -> None:
    """Raises ``BudgetUsed``."""

    def work(connection: Connection) -> str | None:
        quota = quota_of(connection, tenant)
        return None if quota.budget_month_nano is None else _over_budget(quota, used_now(connection, tenant))

    reason = database.as_tenant(tenant, work)
    if reason is not None:
        raise BudgetUsed(f"{reason[0].upper()}{reason[1:]}.")


def _over_budget(quota: Quota, used: Used) -> str | None:
    if quota.budget_month_nano is None or used.cost_month_nano < quota.budget_month_nano:
        return None
    return f"the tenant's budget of {format_usd(quota.budget_month_nano)} a month is used up"
