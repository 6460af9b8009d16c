"""What a tenant of a server used, what it may use, and how far it is."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from proctor.identity.quotas import Quota, UserBudget
from proctor.models.spending.reading import CallRow, CallsWanted
from proctor.sdk.cursors import Listing
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import API, Transport
from proctor.sdk.usage import Allowance, Apart, UsageReport

__all__ = ["RemoteUsages"]


class RemoteUsages:
    """What ``proctor.sdk.usage.Usages`` answers, answered by a server; and what only a server keeps."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def report(self, by: Apart, *, since: datetime | None = None, until: datetime | None = None) -> UsageReport:
        """Attempts, sandbox seconds and cost; of the last 30 days without times."""
        times = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        return read(UsageReport, self._transport.get("usage", by=by.value, **times))

    def of_tenants(self, *, since: datetime | None = None, until: datetime | None = None) -> UsageReport:
        """The same of every tenant, as an administrator of the installation."""
        times = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        return read(UsageReport, self._transport.get("tenants/usage", **times))

    def allowance(self) -> Allowance:
        """What the tenant may use, and how far it is."""
        return read(Allowance, self._transport.get("allowance"))

    def set_budget(self, month_nano: int | None) -> Quota:
        """Set what the tenant spends in a month at the most, in nano-dollars; ``None`` takes it away."""
        return read(Quota, self._transport.put("budget", {"month_nano": month_nano}))

    def ledger(
        self, wanted: CallsWanted | None = None, *, before: UUID | None = None, limit: int = 100
    ) -> list[CallRow]:
        """Calls of models, the newest first; ``before``: only those made before that one."""
        wanted = wanted or CallsWanted()
        said = {"run_set": wanted.run_set, "attempt": wanted.attempt, "model": wanted.model, "end": wanted.end}
        asked = {name: str(value) for name, value in said.items() if value is not None}
        cursor = None if before is None else Listing(f"{API}/ledger", tuple(asked.items())).cursor([before])
        return read(list[CallRow], self._transport.get("ledger", **asked, cursor=cursor, limit=limit)["items"])

    def user_budgets(self) -> list[UserBudget]:
        """Users who have a budget of their own."""
        return [read(UserBudget, one) for one in self._transport.pages("user-budgets")]

    def user_budget(self, user: UUID) -> UserBudget:
        """What a user may spend in a month."""
        return read(UserBudget, self._transport.get(f"users/{user}/budget"))

    def set_user_budget(self, user: UUID, month_nano: int | None) -> UserBudget:
        """Set what a user may spend in a month at the most, in nano-dollars; ``None`` takes it away."""
        return read(UserBudget, self._transport.put(f"users/{user}/budget", {"month_nano": month_nano}))

    def quota(self, tenant: str) -> Quota:
        """What a tenant may use, as an administrator of the installation."""
        return read(Quota, self._transport.get(f"tenants/{part(tenant)}/quota"))

    def set_quota(self, tenant: str, quota: Quota) -> Quota:
        """Set what a tenant may use, all but its own budget, as an administrator of the installation."""
        names = ("evaluations_per_day", "cost_month_nano", "storage_bytes", "sandboxes")
        body = {name: getattr(quota, name) for name in names}
        return read(Quota, self._transport.put(f"tenants/{part(tenant)}/quota", body))
