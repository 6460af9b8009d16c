"""An embedder that needs neither a model nor a network: signed feature hashing of the parts of a text.

A text in lower case is cut into words (runs of what Unicode calls letters, digits and underscores). Its features are
the words, pairs of neighbouring words, and runs of three and four letters of each word with a mark at both ends. A
feature adds 1 or -1 to one of 256 numbers, as the 8-byte BLAKE2b of its UTF-8 says: the last byte is the place, the
lowest bit of the first one the sign. The sum is divided by its length. It is the same on every machine. What texts mean
it doesn't know: only what is spelled alike is close.

Source: Weinberger et al. (2009), Feature Hashing for Large Scale Multitask Learning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

from proctor.evaluators.interfaces import Embedded

__all__ = ["DIMENSIONS", "HashingEmbedder", "hashed"]

DIMENSIONS: int = 256
"""A byte of a hash, and few enough collisions for texts of some hundred words."""
_LENGTHS: tuple[int, ...] = (3, 4)
_REMEMBERED: int = 65_536
"""Features whose places are kept: the frequent words of a batch, in some ten megabytes."""
_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Implements ``Embedder``."""

    @property
    def dimensions(self) -> int:
        """256."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """At once and for nothing. A text without words is all zeros."""
        return Embedded(vectors=[hashed(text) for text in texts], cost_nano=0)


def hashed(text: str) -> list[float]:
    """The vector of a text: 256 numbers, of length 1 or all zeros."""
    sums = [0] * DIMENSIONS
    for feature in _features(text):
        place, sign = _place(feature)
        sums[place] += sign
    length = math.sqrt(sum(one * one for one in sums))
    return [one / length for one in sums] if length else [0.0] * DIMENSIONS


def _features(text: str) -> Iterator[str]:
    words = _WORD.findall(text.lower())
    yield from words
    for one, next_one in pairwise(words):
        yield f"{one} {next_one}"
    for word in words:
        marked = f"<{word}>"
        for length in _LENGTHS:
            for begin in range(len(marked) - length + 1):
                yield f"#{marked[begin : begin + length]}"


@lru_cache(maxsize=_REMEMBERED)
def _place(feature: str) -> tuple[int, int]:
    digest = blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
    return digest[-1], 1 if digest[0] & 1 else -1
