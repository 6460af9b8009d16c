"""The models of one attempt: its session at the gateway, and what of it is evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from proctor.agents.errors import ProviderFailed
from proctor.agents.interfaces import Agent, Asks, Usage
from proctor.engine.assignments import Assignment
from proctor.kernel.canonical import Json
from proctor.kernel.money import parse_usd
from proctor.kernel.sums import added
from proctor.models.calls import Call, End, Payer
from proctor.models.conversation import ChatRequest, Reply
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.sessions import SOCKET, Bounds, Declared, Session
from proctor.models.providers.catalogue import Catalogue
from proctor.sandboxes.interfaces import RELAY

__all__ = ["AttemptModels", "Models", "bounds_of", "declared_of"]

_UNAUTHORIZED: int = 401
_NO_ROOM: Mapping[str, str] = {
    "price-unknown": "The model has no known price, and a budget can't hold what has none.",
}


class AttemptModels:
    """What an attempt reaches of models, from its start to its end."""

    def __init__(
        self,
        gateway: Gateway,
        assignment: Assignment,
        declared: Declared,
        keys: Mapping[str, str],
        *,
        user: str,
        asks: Asks,
    ) -> None:
        """``keys``: values of the secrets of the run set, by name; those of the declared providers are used. ``asks``:
        who writes the requests: where we do, a request that is refused is no fault of the model's."""
        payer = Payer(
            tenant=assignment.tenant,
            run_set=assignment.run_set,
            profile=assignment.profile,
            user=user,
            attempt=assignment.attempt,
        )
        self._gateway, self._asks = gateway, asks
        self._session = Session(payer, declared, keys, bounds_of(assignment.configuration))
        self._session.shut()  # until the agent begins

    # --- what an agent sees ----------------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The profile's model."""
        return self._session.declared.model

    @property
    def thinking(self) -> str | None:
        """As the profile says."""
        return self._session.declared.thinking

    @property
    def sampling(self) -> Mapping[str, Json]:
        """As the profile says."""
        return self._session.declared.sampling

    @property
    def token(self) -> str:
        """The attempt's own."""
        return self._session.token

    @property
    def socket(self) -> str:
        """In the sandbox."""
        return f"{RELAY}/{SOCKET}"

    async def complete(self, request: ChatRequest) -> tuple[Reply, Call]:
        """Ask a model from here."""
        return await self._gateway.complete(self._session, request)

    def usage(self) -> Usage:
        """By the gateway's own count; reasoning is output, as providers bill it."""
        totals = self._session.totals
        used = totals.usage
        return Usage(
            input_tokens=used.input_tokens,
            cache_read_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens,
            output_tokens=added(used.output_tokens, used.reasoning_tokens),
            cost_nano=totals.cost_nano,
        )

    # --- its life --------------------------------------------------------------------------------------------------

    async def serve(self, folder: Path | None) -> None:
        """Let programs in the sandbox reach it, at a socket in the folder of its relay."""
        if folder is not None:
            await self._gateway.serve(self._session, folder)

    def open(self) -> None:
        """The agent begins."""
        self._session.open()

    def shut(self) -> None:
        """The agent is done: what it left running asks nothing more."""
        self._session.shut()

    async def end(self) -> None:
        """The attempt is over. Safe to repeat."""
        await self._gateway.leave(self._session)

    # --- what is evidence ------------------------------------------------------------------------------------------

    def evidence(self) -> dict[str, Json]:
        """What the gateway's own log says of how the agent ended; nothing that an agent printed is in it.

        Raises ``ProviderFailed`` where a model answered that was not declared: what followed is not the profile's work.
        """
        session = self._session
        found: dict[str, Json] = {"model_calls": session.totals.calls}
        if session.answered:
            found["model_returned"] = session.answered
        if session.tainted:
            raise ProviderFailed(f"{session.answered!r} answered for {self.model!r}, and is not declared.")
        if session.limit is not None:
            found["limit"] = session.limit
        if session.last is not None and session.last.end is End.CONTEXT:
            found["limit"] = "context"
        return {**found, **_ended_by(session.failure, session.refusal or self._misasked, session.retry_after)}

    @property
    def _misasked(self) -> Call | None:
        """The last call, where a provider refused a request of ours as such: its settings are the profile's."""
        last = self._session.last
        return last if self._asks is Asks.HERE and last is not None and last.end is End.INVALID else None


class Models:
    """Opens the way to models for attempts of one process."""

    def __init__(
        self,
        gateway: Gateway,
        catalogue: Catalogue,
        *,
        users: Callable[[UUID, UUID], str],
        recover: Callable[[], object],
    ) -> None:
        """``users``: the id of the user who asked for a tenant's run set, empty where none did; ``recover``: takes in
        what dead processes left."""
        self.gateway, self._catalogue, self._recover = gateway, catalogue, recover
        self._user_of = lru_cache(maxsize=1000)(users)

    def of(self, assignment: Assignment, secrets: Mapping[str, str], agent: Agent) -> AttemptModels | None:
        """An attempt's; may wait for the database.

        ``None`` where its agent asks none, or may be one that asks them by itself: a command whose model is of no
        provider that is known here, or whose keys the run set does not list.
        """
        declared = declared_of(assignment.configuration)
        if declared is None or agent.asks is Asks.NOTHING:
            return None
        if not self._is_reached(declared, secrets) and agent.identity.name == "command":
            return None
        user = self._user_of(assignment.tenant, assignment.run_set)
        return AttemptModels(self.gateway, assignment, declared, secrets, user=user, asks=agent.asks)

    @property
    def keys(self) -> frozenset[str]:
        """The names of all providers' keys."""
        return self._catalogue.keys

    def _is_reached(self, declared: Declared, secrets: Mapping[str, str]) -> bool:
        if not self._catalogue.knows(declared.model):
            return False
        keys = self._catalogue.of(declared.model)[0].keys
        return not keys or any(secrets.get(name) for name in keys)

    def recover(self) -> None:
        """Take in what dead processes of this machine spent and had not written down yet."""
        self._recover()

    def close(self) -> None:
        """No attempt runs any more: write down what was spent."""
        self.gateway.close()


def _ended_by(failure: Call | None, refusal: Call | None, wait: float | None) -> dict[str, Json]:
    """The fields by which the outcome policy knows whose fault an end was."""
    if failure is not None:
        status = failure.http_status
        if failure.end is End.AUTH and status not in (_UNAUTHORIZED, 403):
            status = _UNAUTHORIZED  # no key was there to be asked with, or the account has no credit
        if failure.end is End.RATE_LIMIT:
            status = 429
        told: dict[str, Json] = {"provider": failure.provider, "provider_code": failure.code, "model": failure.model}
        return {"failed": True, "source": "provider", "http_status": status, "retry_after": wait, **told}
    if refusal is None:
        return {}
    if refusal.end is End.BUDGET:
        return {
            "failed": True,
            "source": "user",
            "reason": "budget",
            "budget": refusal.code,
            "message": _NO_ROOM.get(refusal.code, f"The budget of the {refusal.code} has no room for another call."),
            "model": refusal.model,
        }
    return {
        "failed": True,
        "source": "profile",
        "message": f"{refusal.model}: {refusal.end.value}",
        "provider_code": refusal.code,
        "http_status": refusal.http_status,
    }


def declared_of(configuration: Mapping[str, Json]) -> Declared | None:
    """What a configuration declares of models; ``None``: it names none."""
    model, sampling, fallbacks = (configuration.get(name) for name in ("model", "sampling", "fallbacks"))
    if not isinstance(model, str):
        return None
    thinking = configuration.get("thinking")
    return Declared(
        model=model,
        fallbacks=tuple(str(one) for one in fallbacks) if isinstance(fallbacks, list | tuple) else (),
        thinking=thinking if isinstance(thinking, str) else None,
        sampling=dict(sampling) if isinstance(sampling, Mapping) else {},
    )


def bounds_of(configuration: Mapping[str, Json]) -> Bounds:
    """What the limits of a configuration let one attempt use."""
    options = configuration.get("options")
    limits = options.get("limits") if isinstance(options, Mapping) else None
    if not isinstance(limits, Mapping):
        return Bounds()
    cost, tokens = limits.get("cost"), limits.get("tokens")
    return Bounds(
        cost_nano=parse_usd(cost) if isinstance(cost, str) else None,
        tokens=tokens if isinstance(tokens, int) else None,
    )
