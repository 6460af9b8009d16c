"""Claude Code, from npm: a program of its own on Anthropic's wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proctor.agents.adapters.events import Answered, Called, Event, Said, Spent, Thought, items, text_of
from proctor.agents.adapters.numbers import count
from proctor.agents.adapters.recipes import BASE, HOME, INSTRUCTION, MODEL, THINKING, TOKEN, Recipe, Start
from proctor.agents.layers.locks import LayerKind
from proctor.kernel.canonical import Json
from proctor.models.wires.interfaces import WireName

__all__ = ["CLAUDE_CODE", "read_line"]


def read_line(line: Mapping[str, Json]) -> Iterable[Event]:
    """One event of ``--output-format=stream-json``: a message of the model's, or the tools' answers."""
    message = line.get("message")
    if line.get("type") not in ("assistant", "user") or not isinstance(message, Mapping):
        return
    for part in items(message.get("content")):
        match part.get("type"):
            case "text" if line["type"] == "assistant":
                yield Said(text_of(part.get("text")))
            case "thinking":
                yield Thought(text_of(part.get("thinking")))
            case "tool_use":
                yield Called(text_of(part.get("id")), text_of(part.get("name")), part.get("input"))
            case "tool_result":
                yield Answered(text_of(part.get("tool_use_id")), text_of(part.get("content")))
    usage = message.get("usage")
    if isinstance(usage, Mapping) and line["type"] == "assistant":
        cached, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
        fresh = count(usage.get("input_tokens"))
        prompt = None if fresh is None else fresh + (cached or 0) + (written or 0)
        yield Spent(prompt=prompt, completion=count(usage.get("output_tokens")), cached=cached)


CLAUDE_CODE = Recipe(
    name="claude-code",
    summary="Anthropic's Claude Code",
    kind=LayerKind.NPM,
    package="@anthropic-ai/claude-code",
    program="node_modules/@anthropic-ai/claude-code-linux-@ARCH@/claude",
    starts={
        WireName.ANTHROPIC: Start(
            words=(
                *("--print", "--verbose", "--output-format=stream-json", "--dangerously-skip-permissions"),
                # Its provider would run the search, which the gateway lets no agent have.
                *("--model", MODEL, "--disallowedTools", "WebSearch"),
            ),
            stdin=INSTRUCTION,
            env={
                "ANTHROPIC_BASE_URL": BASE,
                "ANTHROPIC_AUTH_TOKEN": TOKEN,
                "ANTHROPIC_MODEL": MODEL,
                "ANTHROPIC_SMALL_FAST_MODEL": MODEL,
                "ANTHROPIC_DEFAULT_OPUS_MODEL": MODEL,
                "ANTHROPIC_DEFAULT_SONNET_MODEL": MODEL,
                "ANTHROPIC_DEFAULT_HAIKU_MODEL": MODEL,
                "CLAUDE_CODE_SUBAGENT_MODEL": MODEL,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_MAX_RETRIES": "2",  # the gateway has tried again already
                "CLAUDE_CONFIG_DIR": f"{HOME}/claude",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "IS_SANDBOX": "1",
            },
        )
    },
    thinking=("--effort", THINKING),
    reports="steps and tokens as it prints them; cost by the gateway",
    read_line=read_line,
    unproved=("thinking budgets", "answers of Anthropic's own servers", "images as tool results"),
)
