"""The declared agents, by name."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.agents.adapters.aider import AIDER
from proctor.agents.adapters.claude_code import CLAUDE_CODE
from proctor.agents.adapters.codex import CODEX
from proctor.agents.adapters.gemini_cli import GEMINI_CLI
from proctor.agents.adapters.mini_swe_agent import MINI_SWE_AGENT
from proctor.agents.adapters.opencode import OPENCODE
from proctor.agents.adapters.recipes import Recipe
from proctor.agents.errors import ProfileInvalid
from proctor.kernel.canonical import Json

__all__ = ["RECIPES", "refuse_unheard"]

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe for recipe in (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, MINI_SWE_AGENT, AIDER)
}


def refuse_unheard(name: str, *, thinking: str | None, sampling: Mapping[str, Json]) -> None:
    """Raise ``ProfileInvalid`` for what a profile says of its model and its agent could not be told.

    It would be part of the configuration and change nothing.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        return
    if thinking is not None and not recipe.thinking:
        raise ProfileInvalid(f"{name} can't be told how much to think.", where="thinking")
    if sampling:
        raise ProfileInvalid(f"{name} chooses its sampling itself.", where="sampling")
