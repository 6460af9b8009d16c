"""What keys of providers and forges look like: found in what agents leave though nobody told us their values.

A shape is a beginning and enough of its own characters after it. Short beginnings stand by chance in base64 and in
words (`task-...`), so nothing of a word may be before them; what JSON, URLs and terminals write there is no word.
Private keys are not among the shapes: making one is a task like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["BEFORE", "LONGEST_KEY", "holds_key", "key_may_begin", "mask_keys"]

BEFORE: int = 6
"""Bytes before a key by which it is judged whether one begins there."""
LONGEST_KEY: int = 512
"""Bytes; the longest in use has under 200."""

_PLAIN: tuple[tuple[bytes, bytes], ...] = (
    (b"sk-ant-", rb"[A-Za-z0-9_-]{24,}"),  # Anthropic
    (b"sk-proj-", rb"[A-Za-z0-9_-]{24,}"),  # OpenAI, by project
    (b"sk-svcacct-", rb"[A-Za-z0-9_-]{24,}"),  # OpenAI, by service account
    (b"sk-admin-", rb"[A-Za-z0-9_-]{24,}"),  # OpenAI, administrators'
    (b"sk-or-v1-", rb"[0-9a-f]{40,}"),  # OpenRouter
    (b"AKIA", rb"[0-9A-Z]{16}"),  # AWS
    (b"ASIA", rb"[0-9A-Z]{16}"),  # AWS, temporary
    (b"AIza", rb"[0-9A-Za-z_-]{35}"),  # Google
    (b"ghp_", rb"[A-Za-z0-9_]{36,}"),  # GitHub
    (b"gho_", rb"[A-Za-z0-9_]{36,}"),
    (b"ghu_", rb"[A-Za-z0-9_]{36,}"),
    (b"ghs_", rb"[A-Za-z0-9_]{36,}"),
    (b"ghr_", rb"[A-Za-z0-9_]{36,}"),
    (b"github_pat_", rb"[A-Za-z0-9_]{60,}"),
    (b"glpat-", rb"[A-Za-z0-9_-]{20,}"),  # GitLab
    (b"xoxb-", rb"[A-Za-z0-9-]{20,}"),  # Slack
    (b"xoxp-", rb"[A-Za-z0-9-]{20,}"),
    (b"proctor_", rb"[A-Za-z0-9_-]{40,}"),  # our own
)
_GUARDED: tuple[tuple[bytes, bytes], ...] = (
    (b"sk-", rb"[A-Za-z0-9]{32,}"),  # OpenAI's older ones, DeepSeek, LiteLLM
    (b"gsk_", rb"[A-Za-z0-9]{40,}"),  # Groq
    (b"xai-", rb"[A-Za-z0-9]{60,}"),  # xAI
    (b"hf_", rb"[A-Za-z0-9]{34,}"),  # Hugging Face
    (b"npm_", rb"[A-Za-z0-9]{36}"),
    (b"xapp-", rb"[A-Za-z0-9-]{40,}"),  # Slack, of an app
    (b"sk_live_", rb"[A-Za-z0-9]{24,}"),  # Stripe
    (b"rk_live_", rb"[A-Za-z0-9]{24,}"),
    (b"dop_v1_", rb"[0-9a-f]{64}"),  # DigitalOcean
    (b"nvapi-", rb"[A-Za-z0-9_-]{60,}"),  # NVIDIA
    (b"lsv2_pt_", rb"[0-9a-f_]{40,}"),  # LangSmith
    (b"lsv2_sk_", rb"[0-9a-f_]{40,}"),
    (b"r8_", rb"[A-Za-z0-9]{37}"),  # Replicate
    (b"pplx-", rb"[A-Za-z0-9]{40,}"),  # Perplexity
    (b"csk-", rb"[a-z0-9]{40,}"),  # Cerebras
    (b"fw_", rb"[A-Za-z0-9]{22,}"),  # Fireworks
    (b"tvly-", rb"[A-Za-z0-9-]{30,}"),  # Tavily
    (b"dapi", rb"[0-9a-f]{32}"),  # Databricks
    (b"pypi-", rb"[A-Za-z0-9_-]{80,}"),
)
_WORD = rb"A-Za-z0-9_-"
_GUARD = (
    rb"(?:(?<![" + _WORD + rb"])|(?<=\\[nrtbf])|(?<=[0-9;\[]m)|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\u00[0-9A-Fa-f]{2}))"
)
"""No word before; a line's end as JSON writes it, the end of a terminal's colour and what JSON and URLs escape are
none."""
_UNGUARDED = re.compile(_GUARD)
_BEGINNINGS: tuple[bytes, ...] = tuple(start for start, _ in (*_PLAIN, *_GUARDED))


def _any_of(shapes: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return rb"(?:" + b"|".join(re.escape(start) + rest for start, rest in shapes) + rb")"


_KEY = re.compile(rb"(?:" + _any_of(_PLAIN) + rb"|" + _GUARD + _any_of(_GUARDED) + rb")(?![" + _WORD + rb"])")
_LAST_WORD = re.compile(rb"[" + _WORD + rb"]+\Z")
_IS_EXAMPLE: bytes = b"EXAMPLE"
"""What documentation ends its keys with (AWS's own AKIAIOSFODNN7EXAMPLE): copies of it are in many packages."""


def mask_keys(text: bytes, mask: bytes, first: int = 0) -> bytes:
    """A text from ``first`` on with every key masked; by what is before it is judged whether one begins there."""
    if not any(start in text for start in _BEGINNINGS):
        return text[first:]
    out, done = bytearray(), first
    for found in _KEY.finditer(text, first):
        if not found[0].endswith(_IS_EXAMPLE):
            out += text[done : found.start()] + mask
            done = found.end()
    return bytes(out + text[done:])


def holds_key(text: bytes) -> bool:
    """Whether there is a key in it. The beginnings are looked for first: that reads a gigabyte in seconds."""
    return any(_begins_in(text, start) for start in _BEGINNINGS)


def _begins_in(text: bytes, start: bytes) -> bool:
    place = text.find(start)
    while place >= 0:
        found = _KEY.match(text, place)
        if found is not None and not found[0].endswith(_IS_EXAMPLE):
            return True
        place = text.find(start, place + 1)
    return False


def key_may_begin(text: bytes) -> int:
    """Where the end of a text begins that more text could make a key, or a longer one; its length if none could."""
    last = _LAST_WORD.search(text, max(0, len(text) - LONGEST_KEY))
    if last is None:
        return len(text)
    free = (place for start, _ in _PLAIN for place in _places(text, start, last.start()))
    guarded = (place for start, _ in _GUARDED for place in _places(text, start, last.start()))
    return min((*free, *(place for place in guarded if _UNGUARDED.match(text, place))), default=len(text))


def _places(text: bytes, start: bytes, first: int) -> Iterator[int]:
    """Where from ``first`` on a beginning is, and where the text ends with the beginning of it."""
    place = text.find(start, first)
    while place >= 0:
        yield place
        place = text.find(start, place + 1)
    for size in range(min(len(start) - 1, len(text) - first), 0, -1):
        if text.endswith(start[:size]):
            yield len(text) - size
