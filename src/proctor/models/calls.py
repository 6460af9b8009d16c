"""One call of a model: who pays for it, what it asked, what became of it, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from uuid import UUID

from proctor.models.conversation import TokenUsage
from proctor.models.wires.interfaces import WireName

__all__ = ["Call", "End", "Payer", "Purpose"]


class Purpose(StrEnum):
    """What a call is for."""

    AGENT = "agent"
    JUDGE = "judge"
    EMBEDDING = "embedding"
    TARGET = "target"
    """An output that an evaluation job is to judge."""


class End(StrEnum):
    """How a call ended."""

    DONE = "done"
    CACHED = "cached"
    """Answered from the cache: it cost nothing."""
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    UNAVAILABLE = "unavailable"
    """5xx, overloaded, a connection that broke, a deadline that passed, a breaker that is open."""
    UNDECLARED = "undeclared_fallback"
    """Another model answered than any that was declared."""
    MODEL_UNKNOWN = "model_unknown"
    UNSUPPORTED = "unsupported"
    CONTEXT = "context"
    REFUSED = "refused"
    INVALID = "invalid"
    BUDGET = "budget"
    LIMIT = "limit"
    """A limit of the attempt's own: its cost or its tokens."""
    ABANDONED = "abandoned"
    """Whoever asked went away before it ended, or the process that made it died."""


@dataclass(frozen=True, kw_only=True)
class Payer:
    """Who pays for a call. Budgets are looked up by it, and the ledger keeps it."""

    tenant: UUID
    run_set: UUID | None = None
    profile: str = ""
    user: str = ""
    """The id of the user who asked for it; empty: this machine's own, who has no account."""
    attempt: UUID | None = None
    job: UUID | None = None
    """An evaluation job, which may have a budget of its own."""

    @cached_property
    def columns(self) -> Mapping[str, str | None]:
        """As the ledger names it; made once for all calls of an attempt."""
        return {
            "run_set_id": None if self.run_set is None else str(self.run_set),
            "attempt_id": None if self.attempt is None else str(self.attempt),
            "profile": self.profile,
            "user_id": self.user,
        }


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that has ended: a line of the ledger."""

    id: UUID
    payer: Payer
    purpose: Purpose
    wire: WireName
    provider: str
    model: str
    """As it was asked for, ``provider/model``."""
    answered: str
    """The model that answered, as its provider named it; empty: none did."""
    key: str
    """The name of the key that was used, never its value."""
    end: End
    http_status: int | None
    """``None``: there was no answer."""
    code: str
    """The provider's own error code."""
    tries: int
    """How often a provider was asked, of whatever model."""
    started_at: datetime
    seconds: float
    first_byte_sec: float | None
    usage: TokenUsage
    cost_nano: int | None
    """``None``: not known, which is not 0."""
    reserved_nano: int | None
    price_version: str
    overrun: bool = False
    """It cost more than was reserved for it."""
