"""What agents built on litellm share: how it finds the gateway on each wire, and its own calls home switched off."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.agents.adapters.recipes import BASE, MODEL, TOKEN
from proctor.models.wires.interfaces import WireName

__all__ = ["LITELLM_MODELS", "litellm_environment"]

LITELLM_MODELS: Mapping[WireName, str] = {
    WireName.OPENAI_CHAT: f"openai/{MODEL}",
    WireName.ANTHROPIC: f"anthropic/{MODEL}",
    WireName.GEMINI: f"gemini/{MODEL}",
}
"""What it calls a model, by the wire that it is to speak."""
_QUIET: Mapping[str, str] = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
_WIRES: Mapping[WireName, Mapping[str, str]] = {
    WireName.OPENAI_CHAT: {"OPENAI_API_BASE": f"{BASE}/v1", "OPENAI_API_KEY": TOKEN},
    WireName.ANTHROPIC: {"ANTHROPIC_API_BASE": BASE, "ANTHROPIC_API_KEY": TOKEN},
    WireName.GEMINI: {"GEMINI_API_BASE": f"{BASE}/v1beta", "GEMINI_API_KEY": TOKEN},
}


def litellm_environment(wire: WireName) -> dict[str, str]:
    """The variables that it reads."""
    return {**_QUIET, **_WIRES[wire]}
