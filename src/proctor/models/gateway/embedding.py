"""Vectors of texts, asked for by us: the request on OpenAI's wire for embeddings, and what is read of its reply."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from proctor.kernel.canonical import Json
from proctor.models.errors import ReplyInvalid
from proctor.models.gateway.preparing import Passing
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import WireName

__all__ = ["LONGEST_VECTOR", "embedding_request", "read_vectors"]

LONGEST_VECTOR: int = 16_384
"""Numbers: four times those of the longest in use."""


def embedding_request(model: str, texts: Sequence[str]) -> Passing:
    """A request for the vectors of texts."""
    wire = WireName.OPENAI_EMBEDDINGS
    body: dict[str, Json] = {"model": model, "input": list(texts), "encoding_format": "float"}
    raw = json.dumps(body, separators=(",", ":")).encode()
    return Passing(wire=wire, raw=raw, body=body, facts=WIRES[wire].facts(raw, body))


def read_vectors(reply: Json, number: int) -> list[list[float]]:
    """A vector for each text, in their order, all of one length and finite. Raises ``ReplyInvalid``."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or len(data) != number:
        raise ReplyInvalid(f"It has to have {number} vectors.", where="data")
    found: dict[int, list[float]] = {}
    for place, one in enumerate(data):
        index = one.get("index", place) if isinstance(one, dict) else None
        if not isinstance(index, int) or index in found or not 0 <= index < number:
            raise ReplyInvalid("A vector's index is none of the request's.", where=f"data.{place}")
        found[index] = _vector(one.get("embedding"), f"data.{place}.embedding")
    if len({len(vector) for vector in found.values()}) > 1:
        raise ReplyInvalid("Vectors are not of one length.", where="data")
    return [found[index] for index in range(number)]


def _vector(value: Json, where: str) -> list[float]:
    if not isinstance(value, list) or not 0 < len(value) <= LONGEST_VECTOR:
        raise ReplyInvalid(f"It has to be a list of 1 to {LONGEST_VECTOR:,} numbers.", where=where)
    numbers = [float(one) for one in value if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != len(value) or not all(map(math.isfinite, numbers)):
        raise ReplyInvalid("It has to be numbers.", where=where)
    return numbers
