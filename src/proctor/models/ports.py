"""What the gateway asks of others: what budgets there are, what things cost, and room to spend and to call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sqlalchemy import Connection

from proctor.models.calls import Call, Payer
from proctor.models.conversation import TokenUsage
from proctor.models.wires.interfaces import RequestFacts

__all__ = [
    "Admission",
    "Budgets",
    "Price",
    "Prices",
    "RateLimit",
    "Rates",
    "Reservation",
    "Scope",
    "ScopeKind",
    "Spending",
]


class ScopeKind(StrEnum):
    """Whose budget it is."""

    TENANT = "tenant"
    USER = "user"
    RUN_SET = "run_set"
    PROFILE = "profile"
    JOB = "job"


@dataclass(frozen=True, kw_only=True)
class Scope:
    """One budget that a call comes under. ``period``: ``2026-12`` for a month (UTC), empty for all time."""

    kind: ScopeKind
    key: str
    """The id of the tenant, user, run set or evaluation job; of a profile its run set's id, a slash and its name."""
    period: str
    limit_nano: int | None
    """``None``: it has no limit; it is counted all the same."""


class Budgets(Protocol):
    """Says which budgets a payer comes under."""

    def scopes(self, connection: Connection, payer: Payer) -> Sequence[Scope]:
        """All of them, with the limits that hold now, in any order."""
        ...


class Price(Protocol):
    """What one model costs. All in nano-dollars, rounded up to whole ones for each call."""

    @property
    def version(self) -> str:
        """Of the price file that says so."""
        ...

    @property
    def max_output(self) -> int | None:
        """Tokens of its longest answer, where that is known."""
        ...

    def worst(self, facts: RequestFacts) -> int | None:
        """The most that a request can cost: its input bound at the dearest input rate, its longest answer at the
        dearest output rate. ``None``: it can't be bounded."""
        ...

    def cost(self, usage: TokenUsage) -> int | None:
        """What was used, bucket by bucket; ``None`` where a bucket that costs something is not known."""
        ...


class Prices(Protocol):
    """The price file, and what the operator adds to it."""

    def of(self, model: str) -> Price | None:
        """By ``provider/model``; ``None``: its price is not known."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Room in every budget of a payer for a call's worst case. Given back by ``settle`` alone."""

    id: int
    payer: Payer
    nano: int | None
    """``None``: no budget is hard and the price is not known."""


class Spending(Protocol):
    """Room in budgets, drawn from the database in slices, and the ledger. One to a process; used from one loop."""

    async def reserve(self, payer: Payer, worst_nano: int | None, *, wait_sec: float, model: str = "") -> Reservation:
        """Room for a call. Waits where only what others have reserved and may not need is in the way. ``model``: as it
        is asked for, ``provider/model``, for the ledger's line should nobody be left to settle it.

        Raises ``BudgetExhausted``, and ``PriceUnknown`` where ``worst_nano`` is ``None`` under a hard budget.
        """
        ...

    def settle(self, reservation: Reservation, call: Call) -> None:
        """The call has ended: what it cost is spent, the rest is free again. Written down soon, never lost.

        A cost that is not known is taken to be all that was reserved. Raises ``IntegrityError`` the second time."""
        ...

    async def close(self) -> None:
        """Write down what there is and give back every slice."""
        ...


@dataclass(frozen=True, kw_only=True)
class RateLimit:
    """What one key of a provider bears; ``None``: it is not known."""

    requests: int | None = None
    """In a minute."""
    tokens: int | None = None
    """In a minute."""
    at_once: int | None = None
    """Of one process; fewer where the provider says that it is too much."""


@dataclass(frozen=True, kw_only=True)
class Admission:
    """Leave to make one request with one key."""

    key: str
    """The name of the key."""
    tokens: int


class Rates(Protocol):
    """Room in the rates of a provider's keys, drawn from the database in slices, one to a process."""

    async def admit(
        self, tenant_key: str, provider: str, keys: Sequence[str], limit: RateLimit, tokens: int, *, wait_sec: float
    ) -> Admission:
        """Leave for a request of about so many tokens, with whichever key has room first; waits for it.

        ``tenant_key``: whose keys these are. Raises ``TimeoutError`` where there is no room in time.
        """
        ...

    def done(self, admission: Admission, *, tokens: int | None) -> None:
        """The request has ended; ``tokens``: that it really took, where they are known."""
        ...

    def throttled(self, admission: Admission, *, retry_after: float | None) -> None:
        """The provider said that there was too much: that key rests, and fewer go at once."""
        ...

    def learn(self, admission: Admission, headers: object) -> None:
        """What a reply's headers say of what is left: ``x-ratelimit-*``, ``anthropic-ratelimit-*``, ``retry-after``."""
        ...

    async def close(self) -> None:
        """Finish what is under way."""
        ...
