"""A turn of a conversation that an agent had through the gateway, as a step of its trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from proctor.agents.interfaces import AgentContext
from proctor.agents.trajectory import Metrics, Observation, ObservationResult, Step, ToolCall
from proctor.kernel.money import NANO
from proctor.kernel.sums import added
from proctor.models.calls import Call
from proctor.models.conversation import Reasoning, Reply

__all__ = ["tell_turn"]


def tell_turn(context: AgentContext, reply: Reply, call: Call, results: Mapping[str, str]) -> None:
    """Tell a model's answer, what it used and cost, and what its tool calls gave (by their ids)."""
    if context.on_step is None:
        return
    thought = "\n".join(part.text for part in reply.parts if isinstance(part, Reasoning))
    calls = [
        ToolCall.model_validate({"tool_call_id": one.id, "function_name": one.name, "arguments": one.arguments})
        for one in reply.tool_calls
    ]
    observed = [ObservationResult(source_call_id=name, content=text) for name, text in results.items()]
    at = datetime.now(UTC).isoformat()
    context.on_step(
        lambda number: Step(
            step_id=number,
            timestamp=at,
            source="agent",
            model_name=reply.model,
            message=reply.text,
            reasoning_content=thought or None,
            tool_calls=calls or None,
            observation=Observation(results=observed) if observed else None,
            metrics=_metrics(call),
            llm_call_count=1,
        )
    )


def _metrics(call: Call) -> Metrics:
    """ATIF counts cached tokens as prompt tokens, and reasoning as completion."""
    used = call.usage
    return Metrics(
        prompt_tokens=added(used.input_tokens, used.cache_read_tokens, used.cache_write_tokens),
        completion_tokens=added(used.output_tokens, used.reasoning_tokens),
        cached_tokens=used.cache_read_tokens,
        cost_usd=None if call.cost_nano is None else call.cost_nano / NANO,
    )
