"""Codex, from npm: a static program on OpenAI's Responses wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proctor.agents.adapters.events import Answered, Called, Event, Said, Spent, Thought, text_of
from proctor.agents.adapters.numbers import count
from proctor.agents.adapters.recipes import BASE, HOME, INSTRUCTION, MODEL, THINKING, TOKEN, Recipe, Start
from proctor.agents.layers.locks import LayerKind
from proctor.kernel.canonical import Json
from proctor.models.wires.interfaces import WireName

__all__ = ["CODEX", "read_line"]

_NOT_ARGUMENTS = frozenset({"id", "type", "status", "result", "aggregated_output"})


def read_line(line: Mapping[str, Json]) -> Iterable[Event]:
    """One event of ``codex exec --json``; tools tell everything when they are done."""
    item, usage = line.get("item"), line.get("usage")
    if line.get("type") == "item.completed" and isinstance(item, Mapping):
        yield from _item(item)
    elif line.get("type") == "turn.completed" and isinstance(usage, Mapping):
        prompt, cached = count(usage.get("input_tokens")), count(usage.get("cached_input_tokens"))
        yield Spent(prompt=prompt, completion=count(usage.get("output_tokens")), cached=cached)


def _item(item: Mapping[str, Json]) -> Iterable[Event]:
    known = {name: value for name, value in item.items() if name not in _NOT_ARGUMENTS}
    call, kind = text_of(item.get("id")), text_of(item.get("type"))
    match kind:
        case "agent_message":
            yield Said(text_of(item.get("text")))
        case "reasoning":
            yield Thought(text_of(item.get("text")))
        case "command_execution":
            yield Called(call, "shell", {"command": item.get("command")})
            yield Answered(call, f"{text_of(item.get('aggregated_output'))}[exit {text_of(item.get('exit_code'))}]")
        case "error":
            return  # its own remarks: it does not know the model, say
        case _:
            yield Called(call, kind, known)
            yield Answered(call, text_of(item.get("result")) or text_of(item.get("status")))


_CONFIG = f"""\
model = "{MODEL}"
model_provider = "proctor"
check_for_update_on_startup = false
web_search = "disabled"

[features]
apps = false
image_generation = false
multi_agent = false

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"

[model_providers.proctor]
name = "proctor"
wire_api = "responses"
env_key = "PROCTOR_MODEL_TOKEN"
request_max_retries = 2
stream_max_retries = 2
"""

CODEX = Recipe(
    name="codex",
    summary="OpenAI's Codex",
    kind=LayerKind.NPM,
    package="@openai/codex",
    program="node_modules/@openai/codex-linux-@ARCH@/vendor/@MACHINE@-unknown-linux-musl/bin/codex",
    starts={
        WireName.OPENAI_RESPONSES: Start(
            words=(
                *("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"),
                *("-c", f'model_providers.proctor.base_url="{BASE}/v1"', "-"),
            ),
            stdin=INSTRUCTION,
            env={"PROCTOR_MODEL_TOKEN": TOKEN, "CODEX_HOME": f"{HOME}/codex"},
            files={f"{HOME}/codex/config.toml": _CONFIG},
        )
    },
    thinking=("-c", f'model_reasoning_effort="{THINKING}"'),
    reports="steps as it prints them, tokens of the whole run; cost by the gateway",
    read_line=read_line,
    unproved=("encrypted reasoning of OpenAI's own servers", "web search of the provider"),
)
