"""What keys of providers and forges look like: found in what agents leave though nobody told us their values.

A shape is a fixed beginning and enough of its own characters after it, with none of them before: `task-...` holds no
`sk-...`. Private keys are not among them: making one is a task like any other.
"""

from __future__ import annotations

import re

__all__ = ["IN_A_WORD", "LONGEST_KEY", "ends_in_a_word", "holds_key", "key_may_begin", "mask_keys"]

IN_A_WORD: bytes = b"_"
"""Stands for a word that was let out before: no key begins with it, and none begins after it."""

LONGEST_KEY: int = 512
"""Bytes; the longest in use has under 200."""

_SHAPES: tuple[tuple[bytes, bytes], ...] = (
    (b"sk-ant-", rb"[A-Za-z0-9_-]{24,}"),  # Anthropic
    (b"sk-proj-", rb"[A-Za-z0-9_-]{24,}"),  # OpenAI, by project
    (b"sk-svcacct-", rb"[A-Za-z0-9_-]{24,}"),  # OpenAI, by service account
    (b"sk-admin-", rb"[A-Za-z0-9_-]{24,}"),  # OpenAI, administrators'
    (b"sk-or-v1-", rb"[0-9a-f]{40,}"),  # OpenRouter
    (b"sk-", rb"[A-Za-z0-9]{32,}"),  # OpenAI's older ones, DeepSeek, LiteLLM
    (b"AIza", rb"[0-9A-Za-z_-]{35}"),  # Google
    (b"gsk_", rb"[A-Za-z0-9]{40,}"),  # Groq
    (b"xai-", rb"[A-Za-z0-9]{60,}"),  # xAI
    (b"hf_", rb"[A-Za-z0-9]{34,}"),  # Hugging Face
    (b"AKIA", rb"[0-9A-Z]{16}"),  # AWS
    (b"ASIA", rb"[0-9A-Z]{16}"),  # AWS, temporary
    (b"ghp_", rb"[A-Za-z0-9]{36,}"),  # GitHub
    (b"gho_", rb"[A-Za-z0-9]{36,}"),
    (b"ghu_", rb"[A-Za-z0-9]{36,}"),
    (b"ghs_", rb"[A-Za-z0-9]{36,}"),
    (b"ghr_", rb"[A-Za-z0-9]{36,}"),
    (b"github_pat_", rb"[A-Za-z0-9_]{60,}"),
    (b"glpat-", rb"[A-Za-z0-9_-]{20,}"),  # GitLab
    (b"xoxb-", rb"[A-Za-z0-9-]{20,}"),  # Slack
    (b"xoxp-", rb"[A-Za-z0-9-]{20,}"),
    (b"npm_", rb"[A-Za-z0-9]{36}"),
    (b"pypi-", rb"[A-Za-z0-9_-]{80,}"),
    (b"proctor_", rb"[A-Za-z0-9_-]{40,}"),  # our own
)
_WORD = rb"A-Za-z0-9_-"
_BEGINNINGS: tuple[bytes, ...] = tuple(start for start, _ in _SHAPES)
_KEY = re.compile(
    rb"(?<!["
    + _WORD
    + rb"])(?:"
    + b"|".join(re.escape(start) + rest for start, rest in _SHAPES)
    + rb")(?!["
    + _WORD
    + rb"])"
)
_LAST_WORD = re.compile(rb"[" + _WORD + rb"]+\Z")
_IS_EXAMPLE: bytes = b"EXAMPLE"
"""What documentation ends its keys with (AWS's own AKIAIOSFODNN7EXAMPLE): copies of it are in many packages."""


def mask_keys(text: bytes, mask: bytes) -> bytes:
    """A text with every key masked."""
    if not any(start in text for start in _BEGINNINGS):
        return text
    return _KEY.sub(lambda found: found[0] if found[0].endswith(_IS_EXAMPLE) else mask, text)


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


def ends_in_a_word(text: bytes) -> bool:
    """Whether a key that began right after it would be part of a longer word."""
    return _LAST_WORD.search(text, len(text) - 1) is not None


def key_may_begin(text: bytes) -> int:
    """Where the last word of a text begins that more text could make a key; its length if none could."""
    last = _LAST_WORD.search(text, max(0, len(text) - LONGEST_KEY))
    if last is None or (last.start() > 0 and last.start() == len(text) - LONGEST_KEY):
        return len(text)
    word = last[0]
    may = any(word.startswith(start) or start.startswith(word) for start in _BEGINNINGS)
    return last.start() if may else len(text)
