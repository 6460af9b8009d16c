"""mini-swe-agent, from PyPI: a short loop around bash, on litellm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proctor.agents.adapters.events import Answered, Called, Event, Said, Spent, Thought, items, read_json, text_of
from proctor.agents.adapters.litellm_env import LITELLM_MODELS, litellm_environment
from proctor.agents.adapters.numbers import count
from proctor.agents.adapters.recipes import HOME, INSTRUCTION, PROVIDER_WIRES, THINKING, Recipe, Start
from proctor.agents.layers.locks import LayerKind
from proctor.kernel.canonical import Json
from proctor.models.wires.interfaces import WireName

__all__ = ["MINI_SWE_AGENT", "read_file"]

_LOG: str = f"{HOME}/mini/trajectory.json"


def read_file(document: bytes) -> Iterable[Event]:
    """Its trajectory file: the whole conversation as it went to the model."""
    for message in items((read_json(document) or {}).get("messages")):
        match message.get("role"):
            case "assistant":
                yield from _assistant(message)
            case "tool":
                yield Answered(text_of(message.get("tool_call_id")), text_of(message.get("content")))


def _assistant(message: Mapping[str, Json]) -> Iterable[Event]:
    if message.get("reasoning_content"):
        yield Thought(text_of(message.get("reasoning_content")))
    yield Said(text_of(message.get("content")))
    for call in items(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, Mapping):
            yield Called(text_of(call.get("id")), text_of(function.get("name")), _arguments(function.get("arguments")))
    extra = message.get("extra")
    response = extra.get("response") if isinstance(extra, Mapping) else None
    usage = response.get("usage") if isinstance(response, Mapping) else None
    if isinstance(usage, Mapping):
        yield Spent(prompt=count(usage.get("prompt_tokens")), completion=count(usage.get("completion_tokens")))


def _arguments(text: Json) -> Json:
    """Providers send arguments as JSON in a string."""
    found = read_json(text.encode("utf-8", "replace")) if isinstance(text, str) else None
    return text if found is None else dict(found)


def _start(wire: WireName) -> Start:
    return Start(
        words=(
            *("--yolo", "--exit-immediately", "--cost-limit", "0", "--model", LITELLM_MODELS[wire]),
            *("--config", "mini.yaml", "--output", _LOG, "--task", INSTRUCTION),
        ),
        env={
            **litellm_environment(wire),
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_GLOBAL_CONFIG_DIR": f"{HOME}/mini",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",  # the gateway has tried again already
            "MSWEA_SILENT_STARTUP": "true",
        },
    )


MINI_SWE_AGENT = Recipe(
    name="mini-swe-agent",
    summary="mini-SWE-agent",
    kind=LayerKind.PYPI,
    package="mini-swe-agent",
    program="minisweagent.run.mini:app",
    pythons=("3.10", "3.11", "3.12", "3.13"),
    starts={wire: _start(wire) for wire in LITELLM_MODELS},
    wires=PROVIDER_WIRES,
    thinking=("--config", f"model.model_kwargs.reasoning_effort={THINKING}"),
    reports="steps and tokens at its end, from its trajectory file; cost by the gateway",
    log=_LOG,
    read_file=read_file,
    unproved=("thinking budgets", "prompt caching of Anthropic's own servers"),
)
