"""Embeddings of the mock provider: a unit vector that a text's hash decides, so that equal texts are equal alone."""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections.abc import Mapping, Sequence

from proctor.kernel.canonical import Json
from proctor.models.errors import RequestInvalid
from proctor.models.mock.answers import tokens_of
from proctor.models.wires.fields import REQUEST, encoded

__all__ = ["DIMENSIONS", "embedded", "vector"]

DIMENSIONS: int = 256
"""Where a request asks for no number of them."""
_MOST: int = 4_096
"""Dimensions of the longest vectors in use."""


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of length 1, all of whose numbers a 32-bit float can say."""
    drawn = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(4 * dimensions)
    numbers = [number / 2**31 for number in struct.unpack(f"<{dimensions}i", drawn)]
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return list(struct.unpack(f"<{dimensions}f", struct.pack(f"<{dimensions}f", *(one / length for one in numbers))))


def embedded(body: Mapping[str, Json]) -> dict[str, Json]:
    """The reply to a request on the wire ``openai-embeddings``. Raises ``RequestInvalid``."""
    texts = _texts(body.get("input"))
    dimensions = REQUEST.count(body, "dimensions") or DIMENSIONS
    if dimensions > _MOST:
        raise RequestInvalid(f"It has to be {_MOST} at most.", where="dimensions")
    packed = body.get("encoding_format") == "base64"
    data: list[Json] = [
        {"object": "embedding", "index": index, "embedding": _written(vector(text, dimensions), packed=packed)}
        for index, text in enumerate(texts)
    ]
    used = sum(tokens_of(text) for text in texts)
    usage: Json = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": data, "model": REQUEST.model(body), "usage": usage}


def _written(numbers: Sequence[float], *, packed: bool) -> Json:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode() if packed else [*numbers]


def _texts(given: Json) -> list[str]:
    """One text or several; tokens that are given by number are a text of their own."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list) or not given:
        raise RequestInvalid("It has to be a text, or a list of texts or tokens.", where="input")
    if isinstance(given[0], int):
        return [encoded(given).decode()]
    return [one if isinstance(one, str) else encoded(one).decode() for one in given]
