"""A request as it goes to each model of its chain: as it came where its wire is spoken, in our words else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.kernel.canonical import Json
from proctor.models.codec import write_json
from proctor.models.conversation import ChatRequest
from proctor.models.errors import RequestInvalid
from proctor.models.gateway.hiding import asked_for_usage
from proctor.models.gateway.tries import Prepared
from proctor.models.ports import Prices
from proctor.models.providers.catalogue import Catalogue, Provider
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import RequestFacts, WireName

__all__ = ["Passing", "passed_on", "preferred_wire", "spoken"]

_PASSED_HEADERS: tuple[str, ...] = ("anthropic-version", "anthropic-beta", "openai-beta")
"""What of a caller's headers goes on to a provider: what changes the wire, and nothing that says who asks."""
_PREFERRED: tuple[WireName, ...] = (
    WireName.ANTHROPIC,
    WireName.GEMINI,
    WireName.OPENAI_RESPONSES,
    WireName.OPENAI_CHAT,
)
"""For conversations of ours: a provider's own wire first, and of OpenAI's the one that keeps reasoning."""


@dataclass(frozen=True, kw_only=True)
class Passing:
    """A request of somebody else's, as it came."""

    wire: WireName
    raw: bytes
    body: Mapping[str, Json]
    facts: RequestFacts
    headers: Mapping[str, str] = field(default_factory=dict)
    """Found by their lower-case names."""


def passed_on(catalogue: Catalogue, passing: Passing, chain: Sequence[str]) -> list[Prepared]:
    """For each model of a chain whose provider speaks the wire. Raises ``RequestInvalid`` where none does."""
    wire, facts = WIRES[passing.wire], passing.facts
    headers = {name: passing.headers[name] for name in _PASSED_HEADERS if name in passing.headers}
    found = []
    for model in chain:
        provider, name = catalogue.of(model)
        if provider.speaks(passing.wire):
            sent = wire.forwarded(passing.body, model=name)
            body = passing.raw if sent == passing.body else write_json(sent)
            found.append(
                Prepared(
                    provider=provider,
                    name=name,
                    model=model,
                    wire=wire,
                    body=body,
                    facts=facts if facts.model == name else replace(facts, model=name),
                    headers=headers,
                    hides_usage=not asked_for_usage(passing.wire, passing.body),
                )
            )
    if not found or found[0].model != chain[0]:
        known = ", ".join(sorted(catalogue.of(chain[0])[0].wires))
        raise RequestInvalid(f"{chain[0]} is reached by {known}, not by {passing.wire}.", where="path")
    return found


def preferred_wire(provider: Provider) -> WireName:
    """The wire on which conversations of ours go to a provider. Raises ``RequestInvalid`` where it speaks none."""
    for name in _PREFERRED:
        if provider.speaks(name):
            return name
    raise RequestInvalid(f"{provider.name} takes no conversations.", where="model")


def spoken(catalogue: Catalogue, prices: Prices, request: ChatRequest, chain: Sequence[str]) -> list[Prepared]:
    """A conversation of ours for each model of a chain, on whichever wire its provider speaks.

    None is asked for a longer answer than it can give, which providers refuse.
    """
    found = []
    for model in chain:
        provider, name = catalogue.of(model)
        wire = WIRES[preferred_wire(provider)]
        body = wire.write_request(replace(request, model=name, max_output_tokens=_longest(prices, request, model)))
        raw = json.dumps(body, separators=(",", ":")).encode()
        facts = wire.facts(raw, body, model=name, stream=False)
        found.append(Prepared(provider=provider, name=name, model=model, wire=wire, body=raw, facts=facts, headers={}))
    return found


def _longest(prices: Prices, request: ChatRequest, model: str) -> int | None:
    price, wanted = prices.of(model), request.max_output_tokens
    most = None if price is None else price.max_output
    return wanted if wanted is None or most is None else min(wanted, most)
