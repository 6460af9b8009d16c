"""Calls as rows: one form for the journal, where they are kept until they are written, and for the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from proctor.models.calls import Call, End, Payer, Purpose

__all__ = ["Account", "Settlement", "abandoned_row", "call_row"]

_MOST_TEXT: int = 500
"""Characters of a provider's own words that are kept: an error code or a model's name that is longer is none."""
_MOST_NUMBER: int = 2**53
"""A count beyond it is not believed; it would not be the same number in every program that reads it."""


class Account(NamedTuple):
    """Which budget: a scope without its limit."""

    kind: str
    key: str
    period: str


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """A call that is to be written, and the accounts that it is charged to."""

    row: Mapping[str, Any]
    accounts: tuple[Account, ...]
    guessed: bool = False
    """Nobody knows how it ended: what is written of it already stands."""


def call_row(reservation: UUID, call: Call, *, reserved: int | None) -> dict[str, Any]:
    """A call that ended. Charged is what it cost, or what was reserved for it where that is not known."""
    charged = reserved if call.cost_nano is None else min(call.cost_nano, _MOST_NUMBER)
    usage = call.usage
    return {
        **call.payer.columns,
        "id": str(call.id),
        "reservation": str(reservation),
        "purpose": call.purpose.value,
        "wire": call.wire.value,
        "provider": _text(call.provider),
        "model": _text(call.model),
        "answered": _text(call.answered),
        "key": _text(call.key),
        "ended_as": call.end.value,
        "http_status": call.http_status,
        "code": _text(call.code),
        "tries": call.tries,
        "started_at": call.started_at.isoformat(),
        "seconds": call.seconds,
        "first_byte_sec": call.first_byte_sec,
        "input_tokens": _count(usage.input_tokens),
        "cache_read_tokens": _count(usage.cache_read_tokens),
        "cache_write_tokens": _count(usage.cache_write_tokens),
        "output_tokens": _count(usage.output_tokens),
        "reasoning_tokens": _count(usage.reasoning_tokens),
        "cost_nano": None if call.cost_nano is None else charged,
        "reserved_nano": reserved,
        "charged_nano": charged,
        "price_version": call.price_version,
        "overrun": call.overrun or (reserved is not None and charged is not None and charged > reserved),
    }


def abandoned_row(
    *, id: UUID, reservation: UUID, payer: Payer, model: str, reserved: int | None, started_at: datetime
) -> dict[str, Any]:
    """A call that was begun and of whose end nothing is known: it costs all that was reserved for it."""
    nothing = ("http_status", "first_byte_sec", "input_tokens", "cache_read_tokens", "cache_write_tokens")
    return {
        **dict.fromkeys((*nothing, "output_tokens", "reasoning_tokens")),
        **dict.fromkeys(("wire", "answered", "key", "code", "price_version"), ""),
        **payer.columns,
        "id": str(id),
        "reservation": str(reservation),
        "purpose": Purpose.AGENT.value,
        "provider": _text(model.partition("/")[0]),
        "model": _text(model),
        "ended_as": End.ABANDONED.value,
        "tries": 1,
        "started_at": started_at.isoformat(),
        "seconds": 0.0,
        "cost_nano": reserved,
        "reserved_nano": reserved,
        "charged_nano": reserved,
        "overrun": False,
    }


def _text(said: str) -> str:
    """What the database takes: no NUL, no half of a surrogate pair, whatever a provider said."""
    if said.isascii() and said.isprintable():
        return said[:_MOST_TEXT]
    return said[:_MOST_TEXT].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is None or 0 <= tokens <= _MOST_NUMBER else None
