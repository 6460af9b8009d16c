"""Spending and rates in memory: for tests and benchmarks, with the same promises as those of the database."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.models.calls import Call, Payer
from proctor.models.errors import BudgetExhausted, PriceUnknown
from proctor.models.ports import Admission, RateLimit, Reservation

__all__ = ["FakeRates", "FakeSpending"]


class FakeSpending:
    """One budget for whoever pays; ``limit_nano``: ``None`` for none."""

    def __init__(self, limit_nano: int | None = None) -> None:
        self.limit_nano = limit_nano
        self.spent_nano = self.held_nano = 0
        self.calls: list[Call] = []

    async def reserve(self, payer: Payer, worst_nano: int | None, *, wait_sec: float, model: str = "") -> Reservation:
        """Room for a call; nothing is waited for."""
        _ = (wait_sec, model)
        if self.limit_nano is not None:
            if worst_nano is None:
                raise PriceUnknown()
            if self.spent_nano + self.held_nano + worst_nano > self.limit_nano:
                raise BudgetExhausted(scope="run_set")
        self.held_nano += worst_nano or 0
        return Reservation(id=0, payer=payer, nano=worst_nano)

    def settle(self, reservation: Reservation, call: Call) -> None:
        """Spent is what it cost, and what was reserved where that is not known."""
        self.held_nano -= reservation.nano or 0
        self.spent_nano += call.cost_nano if call.cost_nano is not None else reservation.nano or 0
        self.calls.append(call)

    async def close(self) -> None:
        """Nothing is kept."""


class FakeRates:
    """Room for everything, with the keys in turn; one that was throttled comes last."""

    def __init__(self) -> None:
        self.throttled_keys: list[str] = []
        self.headers: list[object] = []

    async def admit(
        self, tenant_key: str, provider: str, keys: Sequence[str], limit: RateLimit, tokens: int, *, wait_sec: float
    ) -> Admission:
        """At once."""
        _ = (tenant_key, provider, limit, wait_sec)
        return Admission(key=min(keys, key=self.throttled_keys.count), tokens=tokens)

    def done(self, admission: Admission, *, tokens: int | None) -> None:
        """Nothing to give back."""

    def throttled(self, admission: Admission, *, retry_after: float | None) -> None:
        """Remember which."""
        self.throttled_keys.append(admission.key)

    def learn(self, admission: Admission, headers: object) -> None:
        """Remember what was said."""
        self.headers.append(headers)

    async def close(self) -> None:
        """Nothing is under way."""
