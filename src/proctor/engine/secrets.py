"""Secrets: their values are kept out of everything that is stored, and so is what has the shape of somebody's key.

A value is looked for as it is, as JSON writes it, in base64 (wherever in it), in hexadecimal and as URLs write it. What
an agent encrypts or packs otherwise is beyond this.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from proctor.kernel.canonical import Json
from proctor.kernel.key_shapes import BEFORE, LONGEST_KEY, holds_key, key_may_begin, mask_keys
from proctor.kernel.masking import SHORTEST_MASKED

__all__ = ["MASK", "Scrubber", "holds_secret", "scrub", "scrub_detail", "scrub_document"]

MASK: bytes = b"[secret removed]"
SHORTEST_ENCODED: int = 12
"""Bytes of a value that is looked for in base64 too: what is left of a shorter one may stand anywhere by chance."""
_CHUNK: int = 1024 * 1024


class Scrubber:
    """Removes known secret values and what looks like a key from a byte stream, across the borders of its pieces."""

    def __init__(self, secrets: Collection[str]) -> None:
        self._values, self._word, self._before = _ValueScrubber(secrets), b"", b""

    def feed(self, piece: bytes) -> bytes:
        """What can be let out so far; only an end that may become a secret is held back, unmasked."""
        text = self._before + self._word + self._values.feed(piece)
        cut = max(key_may_begin(text), len(self._before))
        self._word = text[cut:]
        return self._let_out(text[:cut])

    def finish(self) -> bytes:
        """What was held back: the text ended, so it is no secret unless it is one already."""
        text, self._word = self._before + self._word + self._values.finish(), b""
        return self._let_out(text)

    def _let_out(self, text: bytes) -> bytes:
        """``text`` begins with what was let out last, by which it is judged whether a key begins after it."""
        out = mask_keys(text, MASK, len(self._before))
        if text:
            self._before = text[-BEFORE:]
        return out


class _ValueScrubber:
    """Removes known values."""

    def __init__(self, secrets: Collection[str]) -> None:
        self._needles = _needles(secrets)
        self._longest = max((len(needle) for needle in self._needles), default=0)
        self._found = _pattern(self._needles)
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """What can be let out so far; only an end that is the beginning of a secret is held back, unmasked."""
        if self._found is None:
            return piece
        text = self._held + piece
        waits, done, out = self._waits_from(text, 0), 0, bytearray()
        for match in self._found.finditer(text):
            if match.start() >= waits:
                break  # it may be the beginning of a longer one
            out += text[done : match.start()] + MASK
            done = match.end()
        cut = waits if done <= waits else self._waits_from(text, done)
        self._held = text[cut:]
        return bytes(out + text[done:cut])

    def finish(self) -> bytes:
        """What was held back: the text ended, so it is no secret unless it is one already."""
        rest, self._held = self._held, b""
        return scrub(rest, self._needles)

    def _waits_from(self, text: bytes, start: int) -> int:
        """Where the longest end of a text begins that could still become a secret; its length if none could."""
        for place in range(max(start, len(text) - self._longest + 1), len(text)):
            end = text[place:]
            if any(len(needle) > len(end) and needle.startswith(end) for needle in self._needles):
                return place
        return len(text)


def scrub(text: bytes, needles: Sequence[bytes]) -> bytes:
    """Text with every needle masked, in one pass: the mask itself is never looked into."""
    found = _pattern(needles)
    return text if found is None else found.sub(MASK, text)


def _pattern(needles: Sequence[bytes]) -> re.Pattern[bytes] | None:
    return re.compile(b"|".join(re.escape(needle) for needle in needles)) if needles else None


def scrub_document(document: bytes, secrets: Collection[str]) -> bytes:
    """A JSON document with every secret masked, also where JSON escapes it."""
    return mask_keys(scrub(document, _needles(secrets)), MASK)


def scrub_detail(value: Json, secrets: Collection[str]) -> Json:
    """A piece of evidence with every secret masked, in its texts; they may have been cut within one."""
    return _scrubbed(value, _needles(secrets))


def _scrubbed(value: Json, needles: Sequence[bytes]) -> Json:
    if isinstance(value, str):
        plain = _without_halves(scrub(value.encode("utf-8", "surrogatepass"), needles), needles)
        return mask_keys(plain, MASK).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {key: _scrubbed(item, needles) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, needles) for item in value]
    return value


def _without_halves(text: bytes, needles: Sequence[bytes]) -> bytes:
    """Text that neither begins with the end of a secret nor ends with the beginning of one."""
    for needle in needles:
        for size in range(len(needle) - 1, SHORTEST_MASKED - 1, -1):
            if text.startswith(needle[-size:]):
                text = MASK + text[size:]
            if text.endswith(needle[:size]):
                text = text[:-size] + MASK
    return text


def holds_secret(path: Path, secrets: Collection[str]) -> bool:
    """Whether a file holds any of the values, or what looks like a key, read in pieces that overlap."""
    needles = _needles(secrets)
    overlap = max(LONGEST_KEY, *(len(needle) for needle in needles), 0)
    tail = b""
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            window = tail + piece
            if any(needle in window for needle in needles) or holds_key(window):
                return True
            tail = window[-overlap:]
    return False


def _needles(secrets: Collection[str]) -> list[bytes]:
    """Each value in every form, longest first, so that no part of a longer one is left."""
    return sorted(_forms(tuple(secrets)), key=len, reverse=True)


@lru_cache(maxsize=64)
def _forms(secrets: tuple[str, ...]) -> frozenset[bytes]:
    values = [value for value in secrets if len(value) >= SHORTEST_MASKED]
    return frozenset(form for value in values for form in (json.dumps(value)[1:-1].encode(), *_encoded(value.encode())))


def _encoded(value: bytes) -> Iterator[bytes]:
    yield value
    if len(value) >= SHORTEST_ENCODED:
        yield value.hex().encode()
        yield quote(value, safe="").encode()
        for before in range(3):  # it may stand anywhere in what is encoded: the characters that it alone decides
            text = b64encode(bytes(before) + value)
            first, last = -(-before * 4 // 3), (before + len(value)) * 4 // 3
            yield text[first:last]
            yield urlsafe_b64encode(bytes(before) + value)[first:last]
