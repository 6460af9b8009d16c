"""Secrets: their values are kept out of everything that is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["MASK", "Scrubber", "holds_secret", "scrub", "scrub_document"]

MASK: bytes = b"[secret removed]"
_SHORTEST: int = 6
"""Values shorter than this are words of everyday text; masking them would garble logs and protect nothing."""
_CHUNK: int = 1024 * 1024


class Scrubber:
    """Removes known secret values from a byte stream, across the borders of its pieces."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._needles = _needles(secrets)
        self._longest = max((len(needle) for needle in self._needles), default=0)
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """What can be let out so far; the end is held back while a secret could still begin in it."""
        if not self._needles:
            return piece
        text = scrub(self._held + piece, self._needles)
        cut = max(0, len(text) - self._longest + 1)
        self._held = text[cut:]
        return text[:cut]

    def finish(self) -> bytes:
        """What was held back."""
        rest, self._held = self._held, b""
        return rest


def scrub(text: bytes, needles: Sequence[bytes]) -> bytes:
    """Text with every needle masked."""
    for needle in needles:
        text = text.replace(needle, MASK)
    return text


def scrub_document(document: bytes, secrets: Sequence[str]) -> bytes:
    """A JSON document with every secret masked, also where JSON escapes it."""
    return scrub(document, _needles(secrets))


def holds_secret(path: Path, secrets: Sequence[str]) -> bool:
    """Whether a file holds any of the values, read in pieces that overlap."""
    needles = _needles(secrets)
    if not needles:
        return False
    overlap = max(len(needle) for needle in needles) - 1
    tail = b""
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            window = tail + piece
            if any(needle in window for needle in needles):
                return True
            tail = window[-overlap:]
    return False


def _needles(secrets: Sequence[str]) -> list[bytes]:
    """Each value as it is and as JSON writes it, longest first, so that no part of a longer one is left."""
    plain = {value.encode() for value in secrets if len(value) >= _SHORTEST}
    escaped = {json.dumps(value)[1:-1].encode() for value in secrets if len(value) >= _SHORTEST}
    return sorted(plain | escaped, key=len, reverse=True)
