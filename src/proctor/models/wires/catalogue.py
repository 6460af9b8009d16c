"""All wires, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.models.wires.anthropic import Anthropic
from proctor.models.wires.gemini import Gemini
from proctor.models.wires.interfaces import Wire, WireName
from proctor.models.wires.openai_chat import OpenAiChat
from proctor.models.wires.openai_embeddings import OpenAiEmbeddings
from proctor.models.wires.openai_responses import OpenAiResponses

__all__ = ["WIRES"]

_ALL: tuple[Wire, ...] = (OpenAiChat(), OpenAiResponses(), OpenAiEmbeddings(), Anthropic(), Gemini())
WIRES: Mapping[WireName, Wire] = {wire.name: wire for wire in _ALL}
