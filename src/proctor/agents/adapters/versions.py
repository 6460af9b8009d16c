"""Which version of an agent is meant, and the layers that are it: from the release's own locks, or resolved here."""

from __future__ import annotations

import json
from importlib.resources import files

from proctor.agents.adapters.recipes import Recipe
from proctor.agents.errors import ProfileInvalid
from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.node import node_layer
from proctor.agents.layers.python import Interpreter, find_interpreter, python_layer
from proctor.agents.layers.store import LayerStore
from proctor.kernel.canonical import Json

__all__ = ["LATEST", "default_version", "layers_of", "lock_key"]

LATEST: str = "latest"
"""Whatever the registry calls so now; what that is becomes part of the configuration."""
_NODE_KEY: str = "node"


def default_version(recipe: Recipe) -> str:
    """The version that this release was made with."""
    return str(_shipped(recipe)["version"])


def layers_of(recipe: Recipe, version: str | None, store: LayerStore | None) -> tuple[str, tuple[Layer, ...]]:
    """The exact version and its layers. Asks the registry only where neither the release nor this machine has its lock.

    ``store``: ``None`` where nothing can be resolved. Raises ``ProfileInvalid``, ``LayerFailed``.
    """
    python = find_interpreter(recipe.pythons, recipe.name) if recipe.pythons else None
    runtime = node_layer() if python is None else python_layer(python)
    exact, lock = _locked(recipe, version or default_version(recipe), python, store)
    layer = Layer(
        name=recipe.name,
        kind=recipe.kind,
        version=exact,
        lock=lock if python is None else {**lock, "python": python.version},
        needs=("start.py",) if recipe.kind is LayerKind.PYPI else (recipe.here,),
    )
    return exact, (runtime, layer)


def lock_key(python: Interpreter | None) -> str:
    """For what a lock is: npm's for every Linux, PyPI's for one Python on one architecture."""
    return _NODE_KEY if python is None else python.key


def _locked(
    recipe: Recipe, version: str, python: Interpreter | None, store: LayerStore | None
) -> tuple[str, dict[str, Json]]:
    key = lock_key(python)
    shipped = _shipped(recipe)
    locks = shipped["locks"]
    if version == shipped["version"] and isinstance(locks, dict) and isinstance(lock := locks.get(key), dict):
        return version, lock
    if store is None:
        raise ProfileInvalid(f"Only {recipe.name} {shipped['version']} is known here.", where="agent_version")
    kept = None if version == LATEST else store.recall(f"{recipe.name}@{version}-{key}")
    if isinstance(kept, dict):
        return version, kept
    exact, lock = store.resolve(recipe.kind, recipe.package, version, "" if python is None else python.path)
    store.remember(f"{recipe.name}@{exact}-{key}", lock)
    return exact, lock


def _shipped(recipe: Recipe) -> dict[str, Json]:
    place = files("proctor.agents.adapters").joinpath("locks", f"{recipe.name}.json")
    found: dict[str, Json] = json.loads(place.read_text(encoding="utf-8"))
    return found
