"""What a provider's refusal means: by its code, then by its words, then by its status."""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.models.wires.interfaces import Fault, ProviderError

__all__ = ["STREAMED", "judged"]

STREAMED: int = 0
"""Stands for the status of an error within a stream, whose own status was 200."""
_MESSAGE_CHARS: int = 2_000
"""Of a refusal's words that are kept; some providers repeat the request in them."""

_CODES: Mapping[str, Fault] = {
    "insufficient_quota": Fault.QUOTA,
    "billing_hard_limit_reached": Fault.QUOTA,
    "billing_not_active": Fault.QUOTA,
    "billing_error": Fault.QUOTA,
    "invalid_api_key": Fault.AUTH,
    "authentication_error": Fault.AUTH,
    "permission_error": Fault.AUTH,
    "api_key_invalid": Fault.AUTH,
    "api_key_expired": Fault.AUTH,
    "unauthenticated": Fault.AUTH,
    "permission_denied": Fault.AUTH,
    "model_not_found": Fault.MODEL_UNKNOWN,
    "deploymentnotfound": Fault.MODEL_UNKNOWN,
    "not_found_error": Fault.MODEL_UNKNOWN,
    "notfounderror": Fault.MODEL_UNKNOWN,
    "unsupported_parameter": Fault.UNSUPPORTED,
    "unsupported_value": Fault.UNSUPPORTED,
    "unknown_parameter": Fault.UNSUPPORTED,
    "context_length_exceeded": Fault.CONTEXT,
    "request_too_large": Fault.CONTEXT,
    "content_filter": Fault.REFUSED,
    "content_policy_violation": Fault.REFUSED,
    "responsibleaipolicyviolation": Fault.REFUSED,
    "invalid_prompt": Fault.REFUSED,
    "rate_limit_exceeded": Fault.RATE_LIMIT,
    "rate_limit_error": Fault.RATE_LIMIT,
    "resource_exhausted": Fault.RATE_LIMIT,
    "server_error": Fault.UNAVAILABLE,
    "api_error": Fault.UNAVAILABLE,
    "overloaded_error": Fault.UNAVAILABLE,
    "timeout_error": Fault.UNAVAILABLE,
    "unavailable": Fault.UNAVAILABLE,
    "deadline_exceeded": Fault.UNAVAILABLE,
    "internal": Fault.UNAVAILABLE,
}
"""Codes and types of all wires, in lower case: none means two things."""

_WORDS: tuple[tuple[re.Pattern[str], Fault], ...] = (
    (
        re.compile(r"prompt is too long|exceed\w* (the )?(model'?s )?(maximum )?context|maximum context length", re.I),
        Fault.CONTEXT,
    ),
    (re.compile(r"token count.{0,80}exceeds", re.I | re.S), Fault.CONTEXT),
    (re.compile(r"credit balance is too low", re.I), Fault.QUOTA),
    (re.compile(r"api key not valid|api key expired", re.I), Fault.AUTH),
)
"""For 4xx alone, whose codes say less than their words on some wires."""
_MODEL_WORDS = re.compile(r"\bmodels?\b", re.I)


def judged(status: int, message: str, codes: tuple[str, ...]) -> ProviderError:
    """A refusal. ``codes``: what the provider calls it, the most exact first; the first there is is told."""
    told = [code for code in codes if code]
    return ProviderError(
        fault=_fault(status, message, told), code=told[0] if told else "", message=message[:_MESSAGE_CHARS]
    )


def _fault(status: int, message: str, codes: list[str]) -> Fault:
    known = [fault for code in codes if (fault := _CODES.get(code.lower())) is not None]
    if status in (400, 404, 413, 422, 429, STREAMED):
        known += [fault for words, fault in _WORDS if words.search(message[:_MESSAGE_CHARS])]
    if known and status < 500:
        return known[0]
    return _by_status(status, message)


def _by_status(status: int, message: str) -> Fault:
    if status == 404:
        return Fault.MODEL_UNKNOWN if _MODEL_WORDS.search(message) else Fault.INVALID
    by_number = {401: Fault.AUTH, 402: Fault.QUOTA, 403: Fault.AUTH, 408: Fault.UNAVAILABLE, 413: Fault.CONTEXT}
    if status in by_number:
        return by_number[status]
    if status == 429:
        return Fault.RATE_LIMIT
    is_elsewhere = 300 <= status < 400  # no redirect is followed: the provider is not where its settings say
    return Fault.UNAVAILABLE if is_elsewhere or status >= 500 or status == STREAMED else Fault.INVALID
