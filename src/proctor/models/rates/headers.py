"""What a provider's reply says of its limits. Headers are hostile: what is odd is passed over, never raised."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_REST_SEC", "Left", "asked_wait", "left_of", "retry_after", "telling"]

LONGEST_REST_SEC: float = 3600.0
"""A key rests no longer at once, whatever its provider says; after it, it is asked once more."""
_BELIEVED_SEC: float = 7 * 86_400.0
"""What is longer, or negative, is no time that a provider means."""

_DURATION = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?"
)
_UNITS = (3600.0, 60.0, 1.0, 0.001)
_COUNT = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")

_KINDS: tuple[tuple[str, str, str], ...] = (
    ("requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("requests", "anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("tokens", "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("tokens", "anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("tokens", "anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
)


@dataclass(frozen=True, kw_only=True)
class Left:
    """What a key has left, as far as it was said. ``rest_sec``: it has none of something until then."""

    requests: int | None = None
    tokens: int | None = None
    rest_sec: float | None = None


def telling(headers: object) -> Mapping[str, object]:
    """Those that say something of limits, by lower-case names: a mapping may mind the case."""
    if not isinstance(headers, Mapping):
        return {}
    return {
        lowered: value
        for name, value in headers.items()
        if (lowered := str(name).lower()).startswith("retry-after") or "ratelimit" in lowered
    }


def retry_after(headers: object, now: datetime | None = None) -> float | None:
    """Seconds that a key is to rest: what is asked, where it can be meant, and an hour at the most."""
    return _believed(asked_wait(headers, now))


def asked_wait(headers: object, now: datetime | None = None) -> float | None:
    """Seconds after which a provider says that it may be asked again: ``retry-after-ms``, or ``retry-after`` as a
    number or a date (RFC 9110, 10.2.3); ``None``: it says nothing that can be read."""
    if not (lowered := telling(headers)):
        return None
    milliseconds, text = _said(lowered, "retry-after-ms"), _said(lowered, "retry-after")
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    if _NUMBER.fullmatch(text):
        return float(text)
    then = _until_date(text, now or datetime.now(UTC))
    return None if then is None else max(0.0, then)


def left_of(headers: object, now: datetime | None = None) -> Left:
    """What OpenAI's and Anthropic's headers say is left."""
    if not (lowered := telling(headers)):
        return Left()
    least: dict[str, int] = {}
    rests: list[float] = []
    for kind, remaining, reset in _KINDS:
        count = _said(lowered, remaining)
        if not _COUNT.fullmatch(count):
            continue
        least[kind] = min(int(count), least.get(kind, int(count)))
        until = _believed(_until(_said(lowered, reset), now or datetime.now(UTC)))
        if int(count) == 0 and until is not None:
            rests.append(until)
    return Left(requests=least.get("requests"), tokens=least.get("tokens"), rest_sec=max(rests, default=None))


def _said(lowered: Mapping[str, object], name: str) -> str:
    return str(lowered.get(name, "")).strip()[:100]


def _until(text: str, now: datetime) -> float | None:
    """Of ``6m0s``, ``20ms``, plain seconds, or a time by RFC 3339."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if text and (match := _DURATION.fullmatch(text)):
        return sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS, strict=True) if part)
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (then - now).total_seconds() if then.tzinfo else None


def _until_date(text: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (then - now).total_seconds() if then.tzinfo else None


def _believed(seconds: float | None) -> float | None:
    if seconds is None or not math.isfinite(seconds) or not 0 < seconds <= _BELIEVED_SEC:
        return None
    return min(seconds, LONGEST_REST_SEC)
