"""Gemini CLI, from npm: runs on Node, on Google's wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proctor.agents.adapters.events import Answered, Called, Event, Said, Spent, text_of
from proctor.agents.adapters.numbers import count
from proctor.agents.adapters.recipes import BASE, HOME, INSTRUCTION, MODEL, TOKEN, Recipe, Start
from proctor.agents.layers.locks import LayerKind
from proctor.kernel.canonical import Json
from proctor.models.wires.interfaces import WireName

__all__ = ["GEMINI_CLI", "read_line"]


def read_line(line: Mapping[str, Json]) -> Iterable[Event]:
    """One event of ``--output-format=stream-json``."""
    match line.get("type"):
        case "message" if line.get("role") == "assistant":
            yield Said(text_of(line.get("content")), joined=line.get("delta") is True)
        case "tool_use":
            yield Called(text_of(line.get("tool_id")), text_of(line.get("tool_name")), line.get("parameters"))
        case "tool_result":
            told = line.get("output") or line.get("error") or line.get("status")
            yield Answered(text_of(line.get("tool_id")), text_of(told))
        case "result":
            stats = line.get("stats")
            if isinstance(stats, Mapping):
                prompt, completion = count(stats.get("input_tokens")), count(stats.get("output_tokens"))
                yield Spent(prompt=prompt, completion=completion, cached=count(stats.get("cached")))


_SETTINGS = """\
{
  "general": {"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false, "maxAttempts": 2},
  "tools": {"exclude": ["google_web_search"]},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}
}
"""

GEMINI_CLI = Recipe(
    name="gemini-cli",
    summary="Google's Gemini CLI",
    kind=LayerKind.NPM,
    package="@google/gemini-cli",
    program="node_modules/@google/gemini-cli/bundle/gemini.js",
    starts={
        WireName.GEMINI: Start(
            words=("--yolo", "--skip-trust", "--output-format=stream-json", "--model", MODEL, "--prompt", INSTRUCTION),
            env={
                "GOOGLE_GEMINI_BASE_URL": BASE,
                "GEMINI_API_KEY": TOKEN,
                "GEMINI_CLI_HOME": f"{HOME}/gemini",
                "GEMINI_CLI_NO_RELAUNCH": "true",
                "GEMINI_SANDBOX": "false",
            },
            files={f"{HOME}/gemini/.gemini/settings.json": _SETTINGS},
        )
    },
    reports="steps as it prints them, tokens of the whole run; cost by the gateway",
    read_line=read_line,
    unproved=("its search tool, which Google's own servers carry out",),
)
