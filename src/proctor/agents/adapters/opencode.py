"""OpenCode, from npm: a program of its own on any of three wires, each by a client that is built into it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from proctor.agents.adapters.events import Answered, Called, Event, Said, Spent, Thought, text_of
from proctor.agents.adapters.numbers import count
from proctor.agents.adapters.recipes import BASE, HOME, INSTRUCTION, MODEL, PROVIDER_WIRES, TOKEN, Recipe, Start
from proctor.agents.layers.locks import LayerKind
from proctor.kernel.canonical import Json
from proctor.models.wires.interfaces import WireName

__all__ = ["OPENCODE", "read_line"]


def read_line(line: Mapping[str, Json]) -> Iterable[Event]:
    """One event of ``run --format=json``; a tool is told when it is done."""
    part = line.get("part")
    if not isinstance(part, Mapping):
        return
    state, tokens = part.get("state"), part.get("tokens")
    match part.get("type"):
        case "text":
            yield Said(text_of(part.get("text")))
        case "reasoning":
            yield Thought(text_of(part.get("text")))
        case "tool" if isinstance(state, Mapping):
            call = text_of(part.get("callID"))
            yield Called(call, text_of(part.get("tool")), state.get("input"))
            yield Answered(call, text_of(state.get("output")) or text_of(state.get("error")))
        case "step-finish" if isinstance(tokens, Mapping):
            yield from _spent(tokens)


def _spent(tokens: Mapping[str, Json]) -> Iterable[Event]:
    cache = tokens.get("cache")
    cached = count(cache.get("read")) if isinstance(cache, Mapping) else None
    fresh = count(tokens.get("input"))
    prompt = None if fresh is None else fresh + (cached or 0)
    yield Spent(prompt=prompt, completion=count(tokens.get("output")), cached=cached)


def _start(package: str, path: str) -> Start:
    options = {"baseURL": f"{BASE}{path}", "apiKey": "{env:PROCTOR_MODEL_TOKEN}"}
    model = {MODEL: {"name": MODEL, "tool_call": True, "attachment": True}}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "enabled_providers": ["proctor"],
        "model": f"proctor/{MODEL}",
        "small_model": f"proctor/{MODEL}",
        "provider": {"proctor": {"npm": package, "name": "proctor", "options": options, "models": model}},
    }
    return Start(
        words=("run", "--format=json", "--thinking", "--model", f"proctor/{MODEL}"),
        stdin=INSTRUCTION,
        env={
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "PROCTOR_MODEL_TOKEN": TOKEN,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "XDG_CACHE_HOME": f"{HOME}/opencode/cache",
            "XDG_CONFIG_HOME": f"{HOME}/opencode/config",
            "XDG_DATA_HOME": f"{HOME}/opencode/data",
            "XDG_STATE_HOME": f"{HOME}/opencode/state",
        },
    )


OPENCODE = Recipe(
    name="opencode",
    summary="OpenCode",
    kind=LayerKind.NPM,
    package="opencode-ai",
    program="node_modules/opencode-linux-@ARCH@/bin/opencode",
    starts={
        WireName.OPENAI_CHAT: _start("@ai-sdk/openai-compatible", "/v1"),
        WireName.ANTHROPIC: _start("@ai-sdk/anthropic", "/v1"),
        WireName.GEMINI: _start("@ai-sdk/google", "/v1beta"),
    },
    wires=PROVIDER_WIRES,
    reports="steps and tokens as it prints them; cost by the gateway",
    read_line=read_line,
    unproved=("reasoning of providers' own servers", "plugins, which it would fetch from npm"),
)
