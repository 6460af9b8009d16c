"""Writes src/proctor/agents/adapters/locks/*.json: each agent's default version with the hashes of all that it needs.

``python scripts/agent_locks.py NAME[=VERSION]...``; without names all agents at their latest versions. Those from PyPI
are locked for every Python of theirs that is on the path.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from proctor.agents.adapters.catalogue import RECIPES
from proctor.agents.adapters.recipes import Recipe
from proctor.agents.adapters.versions import LATEST, lock_key
from proctor.agents.errors import ProfileInvalid
from proctor.agents.layers.python import Interpreter, find_interpreter
from proctor.agents.layers.store import LayerStore

LOCKS = Path(__file__).resolve().parent.parent / "src" / "proctor" / "agents" / "adapters" / "locks"


def pythons(recipe: Recipe) -> list[Interpreter | None]:
    """For npm one lock, for PyPI one a Python."""
    found: list[Interpreter | None] = [] if recipe.pythons else [None]
    for version in recipe.pythons:
        try:
            found.append(find_interpreter([version], recipe.name))
        except ProfileInvalid as error:
            print(error, file=sys.stderr)
    return found


def write(recipe: Recipe, version: str, store: LayerStore) -> None:
    """One agent's file; all of its locks are of one version."""
    locks = {}
    for python in pythons(recipe):
        path = "" if python is None else python.path
        version, locks[lock_key(python)] = store.resolve(recipe.kind, recipe.package, version, path)
    text = json.dumps({"version": version, "locks": locks}, separators=(",", ":"), sort_keys=True)
    (LOCKS / f"{recipe.name}.json").write_text(text + "\n", encoding="utf-8")
    print(recipe.name, version, ", ".join(locks))


def main() -> None:
    """Those that are named, or all."""
    wanted = dict(word.partition("=")[::2] for word in sys.argv[1:]) or dict.fromkeys(RECIPES, "")
    with tempfile.TemporaryDirectory() as folder:
        store = LayerStore(folder=Path(folder))
        for name, version in wanted.items():
            write(RECIPES[name], version or LATEST, store)


if __name__ == "__main__":
    main()
