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

__all__ = ["RECIPES"]

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe for recipe in (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, MINI_SWE_AGENT, AIDER)
}
