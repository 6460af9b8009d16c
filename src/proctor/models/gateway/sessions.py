"""A session: what one attempt may ask of models, and what it has used. Its token is its own and dies with it."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from proctor.kernel.canonical import Json
from proctor.kernel.sums import added
from proctor.models.calls import Call, End, Payer
from proctor.models.conversation import TokenUsage
from proctor.models.errors import LimitReached, ModelUndeclared

__all__ = ["SOCKET", "Bounds", "Declared", "Session", "Totals"]

SOCKET: str = "models.sock"
"""Where a session is served, in the folder of a sandbox's relay."""
TOKEN_PREFIX: str = "proctor_model_"  # noqa: S105  by which scanners of logs and files know what it is
_ENDED_BY_PROVIDER: frozenset[End] = frozenset({End.RATE_LIMIT, End.AUTH, End.UNAVAILABLE, End.UNDECLARED})
_ENDED_BY_OTHERS: frozenset[End] = frozenset({End.MODEL_UNKNOWN, End.UNSUPPORTED, End.BUDGET})


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What a profile declares of models. All are ``provider/name``."""

    model: str
    fallbacks: tuple[str, ...] = ()
    thinking: str | None = None
    sampling: Mapping[str, Json] = field(default_factory=dict)

    def chain(self, asked: str) -> tuple[str, ...]:
        """The models to try for a request, in order. ``asked``: with or without its provider. Raises
        ``ModelUndeclared``."""
        models = (self.model, *self.fallbacks)
        for position, model in enumerate(models):
            if asked in (model, model.partition("/")[2]):
                return models if position == 0 else (model,)
        raise ModelUndeclared(f"The profile declares {', '.join(models)}, not {asked[:100]!r}.")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What an attempt may use at the most; ``None``: no bound."""

    cost_nano: int | None = None
    """Hard: a call whose worst case goes beyond it is refused."""
    tokens: int | None = None
    """Of all buckets; the call that reaches it is the last."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What a session has used. A bucket that one answer did not tell is unknown from then on."""

    usage: TokenUsage = field(default_factory=TokenUsage.none)
    cost_nano: int | None = 0
    calls: int = 0

    def plus(self, call: Call) -> Totals:
        """With one more call. A try that no provider answered used nothing, unless it is charged all the same."""
        asked_nothing = call.end is not End.DONE and not call.cost_nano
        return Totals(
            usage=self.usage if asked_nothing else self.usage.plus(call.usage),
            cost_nano=self.cost_nano if asked_nothing else added(self.cost_nano, call.cost_nano),
            calls=self.calls + 1,
        )


class Session:
    """One attempt's. Written in the gateway's loop alone; what it says may be read from anywhere."""

    def __init__(self, payer: Payer, declared: Declared, keys: Mapping[str, str], bounds: Bounds | None = None) -> None:
        """``keys``: values of the secrets that the attempt may use, by name."""
        self.payer, self.declared, self.keys = payer, declared, dict(keys)
        self.bounds = bounds or Bounds()
        self.token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        self.totals = Totals()
        self.last: Call | None = None
        """The last try of the call that ended last."""
        self.answered = ""
        """The model that answered last, as its provider named it."""
        self.tainted = False
        """Whether a model answered that was not declared: nothing more is answered, and no verdict is taken."""
        self.retry_after: float | None = None
        """Seconds that a provider asked to be left alone when it failed the last try."""
        self.limit: str | None = None
        """The bound of its own that a call was refused for."""
        self._reserved_nano = 0
        self._is_open = True
        self._ended = False

    # --- who may ask -----------------------------------------------------------------------------------------------

    def admits(self, token: str) -> bool:
        """Whether a caller may ask now: by the session's own token, while it is open."""
        return self._is_open and hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def open(self) -> None:
        """Let its token through, unless it ended."""
        self._is_open = not self._ended

    def shut(self) -> None:
        """Let nobody through until it is opened again: what an agent left running must not go on asking."""
        self._is_open = False

    def end(self) -> None:
        """Let nobody through any more."""
        self._ended, self._is_open = True, False
        self.keys.clear()

    # --- what is used ----------------------------------------------------------------------------------------------

    def hold(self, worst_nano: int | None) -> None:
        """Make room in its own bounds for a call's worst case. Raises ``LimitReached``."""
        bounds, used = self.bounds, self.totals
        if bounds.tokens is not None and (used.usage.total is None or used.usage.total >= bounds.tokens):
            self.limit = "tokens"
            raise LimitReached(f"The attempt's {bounds.tokens:,} tokens are used up.", limit="tokens")
        if bounds.cost_nano is not None:
            spent = bounds.cost_nano if used.cost_nano is None else used.cost_nano
            if worst_nano is None or spent + self._reserved_nano + worst_nano > bounds.cost_nano:
                self.limit = "cost"
                raise LimitReached("What the attempt may cost has no room for this call's worst case.", limit="cost")
        self._reserved_nano += worst_nano or 0

    def let_go(self, worst_nano: int | None) -> None:
        """Give back what ``hold`` took."""
        self._reserved_nano -= worst_nano or 0

    def add(self, call: Call, *, retry_after: float | None = None) -> None:
        """A try has ended."""
        self.totals = self.totals.plus(call)
        given_up_unasked = call.end is End.ABANDONED and call.http_status is None and not call.cost_nano
        if self.failure is None or not given_up_unasked:  # who waits for a provider that failed is stopped by it
            self.last, self.retry_after = call, retry_after
        if call.answered:
            self.answered = call.answered
        if call.end is End.UNDECLARED:
            self.tainted = self._ended = True
            self.shut()

    # --- what ended it ---------------------------------------------------------------------------------------------

    @property
    def failure(self) -> Call | None:
        """The last call, where a provider failed it after all retries and none succeeded later."""
        return self.last if self.last is not None and self.last.end in _ENDED_BY_PROVIDER else None

    @property
    def refusal(self) -> Call | None:
        """The last call, where the profile or a budget is the reason that it was not answered."""
        return self.last if self.last is not None and self.last.end in _ENDED_BY_OTHERS else None
