"""The agents of this installation: where they come from, what they need and report, and whether they are here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proctor.agents.adapters.catalogue import RECIPES
from proctor.agents.adapters.recipes import Recipe
from proctor.agents.adapters.versions import default_version, layers_of
from proctor.agents.catalogue import AGENTS
from proctor.agents.errors import ProfileInvalid
from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.store import LayerStore
from proctor.models.wires.interfaces import WireName

__all__ = ["AgentLine", "PreparedAgent", "list_agents", "prepare_agent"]

_KEYS: Mapping[WireName, str] = {
    WireName.OPENAI_CHAT: "OPENAI_API_KEY",
    WireName.OPENAI_RESPONSES: "OPENAI_API_KEY",
    WireName.ANTHROPIC: "ANTHROPIC_API_KEY",
    WireName.GEMINI: "GEMINI_API_KEY",
}
"""What its own provider's key is called on each wire; another provider that speaks the wire has another."""
_INSTALLED: Mapping[LayerKind, str] = {LayerKind.NPM: "npm", LayerKind.PYPI: "PyPI"}


@dataclass(frozen=True, kw_only=True)
class AgentLine:
    """One agent."""

    name: str
    version: str
    summary: str
    installed_from: str
    """``npm: PACKAGE``, ``PyPI: PACKAGE``, or empty where it is part of Proctor."""
    wires: tuple[str, ...]
    keys: tuple[str, ...]
    """Of providers, one of them as its model's provider asks; the gateway has them, never a sandbox."""
    reports: str
    prepared: bool | None
    """Whether its programs are on this machine; ``None``: it has none."""
    any_model: bool = False
    """Whether it takes a model of any provider, and so that one's keys."""
    obstacle: str = ""
    """Why it can't run on this machine."""


@dataclass(frozen=True, kw_only=True)
class PreparedAgent:
    """An agent whose programs are here."""

    name: str
    version: str
    layers: Mapping[str, str]
    """The digest of each by its name."""
    folders: tuple[str, ...]
    new: bool
    """Whether anything had to be made."""


def list_agents(store: LayerStore) -> list[AgentLine]:
    """All of them, at the versions that this release was made with."""
    own = [
        AgentLine(
            name=one.name,
            version="1",
            summary=one.summary,
            installed_from="",
            wires=(),
            keys=(),
            any_model=one.any_model,
            reports=one.reports,
            prepared=None,
        )
        for one in AGENTS
        if one.name not in RECIPES
    ]
    return [*own, *(_line(recipe, store) for recipe in RECIPES.values())]


def _line(recipe: Recipe, store: LayerStore) -> AgentLine:
    obstacle, layers = "", tuple[Layer, ...]()
    try:
        _, layers = layers_of(recipe, None, store)
    except ProfileInvalid as error:
        obstacle = error.message
    return AgentLine(
        name=recipe.name,
        version=default_version(recipe),
        summary=recipe.summary,
        installed_from=f"{_INSTALLED[recipe.kind]}: {recipe.package}",
        wires=tuple(wire.value for wire in recipe.starts),
        keys=tuple(dict.fromkeys(_KEYS[wire] for wire in recipe.starts)),
        reports=recipe.reports,
        prepared=bool(layers) and all(store.path(layer) is not None for layer in layers),
        obstacle=obstacle,
    )


def prepare_agent(wanted: str, store: LayerStore, progress: Callable[[str], None]) -> PreparedAgent:
    """Bring an agent's programs here: ``NAME`` or ``NAME@VERSION``. Raises ``ProfileInvalid``, ``LayerFailed``."""
    name, _, version = wanted.partition("@")
    recipe = RECIPES.get(name)
    if recipe is None:
        known = ", ".join(RECIPES)
        raise ProfileInvalid(f"There is nothing to prepare for {name!r}; there are {known}.", where="NAME")
    exact, layers = layers_of(recipe, version or None, store)
    new = any(store.path(layer) is None for layer in layers)
    trees: Sequence[str] = [str(tree) for tree in store.prepare(layers, progress).values()]
    digests = {layer.name: layer.digest for layer in layers}
    return PreparedAgent(name=name, version=exact, layers=digests, folders=tuple(trees), new=new)
