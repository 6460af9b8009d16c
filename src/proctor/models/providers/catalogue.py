"""The providers that are known: those that ship with Proctor, and what the operator's file says besides.

A model is named ``provider/name``; the name may have slashes of its own. A provider whose wire we do not speak is
reached through litellm, where that is installed. Keys are secrets, known here by name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from proctor.models.errors import ProviderUnknown
from proctor.models.ports import RateLimit
from proctor.models.wires.interfaces import WireName

__all__ = ["AT_ONCE", "MOCK", "SHIPPED", "Catalogue", "Provider", "split_model"]

AT_ONCE: int = 64
"""Requests of one process with one key, where the operator says nothing else."""
MOCK: str = "mock"
"""The provider that answers by itself."""

_OPENAI = frozenset({WireName.OPENAI_CHAT, WireName.OPENAI_RESPONSES, WireName.OPENAI_EMBEDDINGS})
_CHAT = frozenset({WireName.OPENAI_CHAT, WireName.OPENAI_EMBEDDINGS})
_DATED = re.compile(r"[-@](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|\d{3})(?:-v\d+(?::\d+)?)?")
"""What providers add to a model's name when they say which version answered: a date, or a number of three or four
digits."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One provider."""

    name: str
    base_url: str
    """A host, or with the version below which OpenAI's paths are; empty: it is not reached over HTTP from here."""
    wires: frozenset[WireName]
    keys: tuple[str, ...] = ()
    """Names of secrets, any of which opens it; a run set lists those that are its own. Empty: it needs none."""
    limit: RateLimit = field(default_factory=lambda: RateLimit(at_once=AT_ONCE))
    """Of one key."""
    timeout_sec: float = 600.0
    """For one answer, from the request to its last byte."""
    through_litellm: bool = False
    answers_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By model: other names under which the same model may answer."""

    @property
    def is_mock(self) -> bool:
        """Whether it answers by itself."""
        return self.name == MOCK

    def speaks(self, wire: WireName) -> bool:
        """Whether requests on this wire are passed on to it."""
        return wire in self.wires

    def is_same(self, asked: str, answered: str) -> bool:
        """Whether a model that answered is the one that was asked for: by its name, the name with its version, or one
        that is declared."""
        if not answered:
            return True  # it did not say, which is no evidence of another
        asked_plain, said = _plain(asked), _plain(answered)
        if said == asked_plain or answered in self.answers_as.get(asked, ()):
            return True
        longer, shorter = (said, asked_plain) if len(said) > len(asked_plain) else (asked_plain, said)
        return longer.startswith(shorter) and _DATED.fullmatch(longer[len(shorter) :]) is not None


def _plain(model: str) -> str:
    """A model's name without the path before it: ``models/x`` and ``vendor/x`` are ``x``."""
    return model.rsplit("/", 1)[-1].lower()


def _shipped(name: str, url: str, wires: frozenset[WireName], *keys: str) -> Provider:
    return Provider(name=name, base_url=url, wires=wires, keys=keys)


SHIPPED: tuple[Provider, ...] = (
    Provider(name=MOCK, base_url="", wires=frozenset(WireName)),
    _shipped("openai", "https://api.openai.com", _OPENAI, "OPENAI_API_KEY"),
    _shipped("anthropic", "https://api.anthropic.com", frozenset({WireName.ANTHROPIC}), "ANTHROPIC_API_KEY"),
    _shipped("gemini", "https://generativelanguage.googleapis.com", frozenset({WireName.GEMINI}), "GEMINI_API_KEY"),
    _shipped("openrouter", "https://openrouter.ai/api/v1", _CHAT, "OPENROUTER_API_KEY"),
    _shipped("deepseek", "https://api.deepseek.com", _CHAT, "DEEPSEEK_API_KEY"),
    _shipped("groq", "https://api.groq.com/openai/v1", _CHAT, "GROQ_API_KEY"),
    _shipped("mistral", "https://api.mistral.ai", _CHAT, "MISTRAL_API_KEY"),
    _shipped("xai", "https://api.x.ai", _CHAT, "XAI_API_KEY"),
    _shipped("together", "https://api.together.xyz", _CHAT, "TOGETHER_API_KEY"),
)
"""Those whose wires are spoken here; the operator's file adds others and changes these."""


def split_model(model: str) -> tuple[str, str]:
    """Provider and name of ``provider/name``. Raises ``ProviderUnknown`` where there is no provider before a slash."""
    provider, slash, name = model.partition("/")
    if not slash or not provider or not name:
        raise ProviderUnknown(f"{model!r} is no model: it is named provider/name.", where="model")
    return provider, name


class Catalogue:
    """All providers of this installation, by name."""

    def __init__(self, providers: Mapping[str, Provider] | None = None) -> None:
        """``providers``: what the operator adds to those that ship, or changes of them."""
        self._providers = {one.name: one for one in SHIPPED} | dict(providers or {})

    def __iter__(self) -> Iterator[Provider]:
        """By name."""
        return iter(sorted(self._providers.values(), key=lambda one: one.name))

    @property
    def keys(self) -> frozenset[str]:
        """The names of all secrets that open a provider."""
        return frozenset(name for provider in self._providers.values() for name in provider.keys)

    def knows(self, model: str | None) -> bool:
        """Whether a model's provider is one of these."""
        return model is not None and model.partition("/")[0] in self._providers and "/" in model

    def of(self, model: str) -> tuple[Provider, str]:
        """A model's provider, and its name there. Raises ``ProviderUnknown``."""
        name, model_name = split_model(model)
        if name not in self._providers:
            known = ", ".join(sorted(self._providers))
            raise ProviderUnknown(f"There is no provider {name!r}; there are {known}.", where="model")
        return self._providers[name], model_name
