"""What an agent may ask a provider for: fields whose price and reach are known, by wire.

A field that is not here may buy a dearer tariff, let the provider search or fetch for the agent, or choose another
model; what providers add tomorrow may too. So everything else is refused by its name, unless it is ``null``.
Sources: the references of OpenAI, Anthropic and Google, and the fields that vLLM, OpenRouter and DeepSeek add.
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.kernel.canonical import Json
from proctor.models.errors import RequestInvalid
from proctor.models.wires.fields import entry, listed
from proctor.models.wires.interfaces import WireName

__all__ = ["refuse_unpermitted"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPENAI = _names(
    "model stream stream_options temperature top_p top_logprobs tools tool_choice parallel_tool_calls reasoning store"
    " metadata user safety_identifier prompt_cache_key prompt_cache_retention service_tier"
)
_FIELDS: Mapping[WireName, frozenset[str]] = {
    WireName.OPENAI_CHAT: _OPENAI
    | _names(
        "messages max_tokens max_completion_tokens top_k min_p n stop seed frequency_penalty presence_penalty"
        " repetition_penalty logit_bias logprobs functions function_call response_format reasoning_effort thinking"
        " include_reasoning reasoning_format verbosity modalities chat_template_kwargs enable_thinking"
        " thinking_budget usage"
    ),
    WireName.OPENAI_RESPONSES: _OPENAI
    | _names(
        "input instructions max_output_tokens max_tool_calls text include truncation background previous_response_id"
        " conversation prompt context_management client_metadata"
    ),
    WireName.OPENAI_EMBEDDINGS: _names("model input encoding_format dimensions user"),
    WireName.ANTHROPIC: _names(
        "model messages system max_tokens stream temperature top_p top_k stop_sequences tools tool_choice thinking"
        " metadata service_tier context_management output_config output_format cache_control mcp_servers container"
    ),
    WireName.GEMINI: _names(
        "model contents systemInstruction system_instruction tools toolConfig tool_config safetySettings"
        " safety_settings generationConfig generation_config cachedContent cached_content labels"
    ),
}
_TARIFFS: tuple[Json, ...] = (None, "auto", "default", "standard_only", "flex")
"""Values of ``service_tier`` that cost the price in the list, or less."""


def refuse_unpermitted(wire: WireName, body: Mapping[str, Json]) -> None:
    """Raises ``RequestInvalid`` naming the first field that agents may not send."""
    permitted = _FIELDS[wire]
    for name, value in body.items():
        if name not in permitted and value is not None:
            raise RequestInvalid("Agents under test may not send this field.", where=name[:100])
    if body.get("service_tier") not in _TARIFFS:
        raise RequestInvalid("Agents under test are asked for at the standard tariff.", where="service_tier")
    settings = {**entry(body, "generation_config"), **entry(body, "generationConfig")}
    asked = [*listed(body, "modalities")]
    for name in ("responseModalities", "response_modalities"):
        asked += listed(settings, name)
    if any(one not in ("text", "TEXT") for one in asked):
        raise RequestInvalid("Only text is priced.", where="modalities")
