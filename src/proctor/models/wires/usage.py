"""Counts of tokens as providers state them, sorted into disjoint buckets. What can't be trusted is not known."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.kernel.canonical import Json
from proctor.kernel.sums import added
from proctor.models.conversation import TokenUsage
from proctor.models.wires.fields import HUGE, entry

__all__ = ["openai_usage", "openai_usage_body", "told", "without"]


def told(usage: Mapping[str, Json], *names: str, absent: int | None = None) -> int | None:
    """A count by the first of its names that is there; ``absent`` where none is, ``None`` where it is no count."""
    for name in names:
        value = usage.get(name)
        if value is not None:
            good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HUGE
            return value if good and isinstance(value, int) else None
    return absent


def without(whole: int | None, *parts: int | None) -> int | None:
    """What is left of a whole; not known where the parts are more than it, or one of them is not known."""
    inside = added(*parts)
    if whole is None or inside is None or inside > whole:
        return None
    return whole - inside


def openai_usage(usage: Json, *, given: str, made: str) -> TokenUsage:
    """Of OpenAI's wires, whose counts of tokens ``given`` (``prompt``, ``input``) and ``made`` (``completion``,
    ``output``) include cached and reasoning tokens. A provider without details has no cache, or does not bill for it.
    """
    if not isinstance(usage, dict):
        return TokenUsage()
    whole_in, whole_out = told(usage, f"{given}_tokens"), told(usage, f"{made}_tokens")
    details = entry(usage, f"{given}_tokens_details")
    read = told(details, "cached_tokens", absent=None if whole_in is None else 0)
    written = told(details, "cache_write_tokens", "cache_creation_tokens", absent=None if whole_in is None else 0)
    thought = told(entry(usage, f"{made}_tokens_details"), "reasoning_tokens", absent=None if whole_out is None else 0)
    total = told(usage, "total_tokens", absent=added(whole_in, whole_out))
    if total is not None and total == added(whole_in, whole_out, thought):
        whole_out = added(whole_out, thought)  # some who speak this wire count reasoning beside what was made
    elif added(whole_in, whole_out) not in (None, total):
        return TokenUsage()
    return _parted(whole_in, read, written, whole_out, thought)


def _parted(
    whole_in: int | None, read: int | None, written: int | None, whole_out: int | None, thought: int | None
) -> TokenUsage:
    fresh, said = without(whole_in, read, written), without(whole_out, thought)
    if whole_in is not None and fresh is None:
        read = written = None
    if whole_out is not None and said is None:
        thought = None
    return TokenUsage(
        input_tokens=fresh,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=said,
        reasoning_tokens=thought,
    )


def openai_usage_body(usage: TokenUsage, *, given: str, made: str) -> dict[str, Json]:
    """The reverse: what is not known is left out."""
    whole_in = added(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    whole_out = added(usage.output_tokens, usage.reasoning_tokens)
    details: dict[str, Json] = {
        "cached_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
    body: dict[str, Json] = {}
    if whole_in is not None:
        body |= {f"{given}_tokens": whole_in, f"{given}_tokens_details": details}
    if whole_out is not None:
        body |= {f"{made}_tokens": whole_out, f"{made}_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}
    if whole_in is not None and whole_out is not None:
        body["total_tokens"] = whole_in + whole_out
    return body
