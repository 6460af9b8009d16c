"""The providers of models that are known here: how each is reached, what it bears, and which of its keys are set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proctor.models.providers.catalogue import Catalogue, Provider

__all__ = ["ProviderLine", "Reached", "list_providers"]


class Reached(StrEnum):
    """How requests get to a provider."""

    PROCESS = "process"
    """It answers by itself, in the process that asks."""
    HTTP = "http"
    LITELLM = "litellm"
    """Through litellm, in a process of its own."""


@dataclass(frozen=True, kw_only=True)
class ProviderLine:
    """One provider. What a key bears is ``None`` where nobody has said it."""

    name: str
    wires: tuple[str, ...]
    reached: Reached
    address: str
    """Where over HTTP; empty: it is reached otherwise, or litellm knows where."""
    keys: tuple[str, ...]
    """Names of secrets, any of which opens it; empty: it needs none."""
    keys_set: tuple[str, ...]
    """Those of them that have a value."""
    requests_per_minute: int | None
    """Of each key, as the next two."""
    tokens_per_minute: int | None
    concurrency: int | None


def list_providers(catalogue: Catalogue, missing: Callable[[Sequence[str]], Iterable[str]]) -> list[ProviderLine]:
    """All of them, by name. ``missing``: which of the names of secrets have no value; asked once."""
    providers = list(catalogue)
    unset = frozenset(missing(sorted({key for one in providers for key in one.keys})))
    return [_line(one, unset) for one in providers]


def _line(provider: Provider, unset: frozenset[str]) -> ProviderLine:
    return ProviderLine(
        name=provider.name,
        wires=tuple(sorted(wire.value for wire in provider.wires)),
        reached=_reached(provider),
        address=provider.base_url,
        keys=provider.keys,
        keys_set=tuple(key for key in provider.keys if key not in unset),
        requests_per_minute=provider.limit.requests,
        tokens_per_minute=provider.limit.tokens,
        concurrency=provider.limit.at_once,
    )


def _reached(provider: Provider) -> Reached:
    if provider.is_mock:
        return Reached.PROCESS
    return Reached.LITELLM if provider.through_litellm else Reached.HTTP
