"""A step of a trajectory for a reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["step_text"]

_SHOWN: int = 2000
"""Characters of one message, call or result; `--json` has them whole."""


def step_text(step: Mapping[str, Any]) -> str:
    """What was said, what was called with which arguments, what came of it, and what it used."""
    lines = [f"── {step['step_id']} · {step['source']}{_used(step)}"]
    lines += [_cut(text) for text in (step.get("reasoning_content"), _said(step["message"])) if text]
    lines += [f"→ {call['function_name']} {_cut(_arguments(call))}" for call in step.get("tool_calls") or ()]
    observed = step.get("observation") or {"results": ()}
    lines += [_cut(_said(one["content"])) for one in observed["results"] if one.get("content")]
    return "\n".join(lines) + "\n"


def _used(step: Mapping[str, Any]) -> str:
    metrics = step.get("metrics") or {}
    tokens = [metrics.get(name) for name in ("prompt_tokens", "completion_tokens")]
    told = " · ".join(
        f"{count:,} {name}" for count, name in zip(tokens, ("in", "out"), strict=True) if count is not None
    )
    cost = metrics.get("cost_usd")
    model = step.get("model_name")
    parts = [model or "", told, "" if cost is None else f"{cost:.6f} USD"]
    return "".join(f" · {part}" for part in parts if part)


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or f"[{part['type']}]" for part in content)


def _arguments(call: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in call["arguments"].items())


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text) - _SHOWN:,} characters more)"
