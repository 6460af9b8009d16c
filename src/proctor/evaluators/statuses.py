"""What became of one evaluation. A score is there exactly where the status is ``scored``."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Status"]


class Status(StrEnum):
    """How one evaluation of one output ended. Their order is that of the codes in ``Scores.status``: append only."""

    SCORED = "scored"
    PARSE_ERROR = "parse_error"
    """The output, or a judge's answer, is not of the form that a score can be read from."""
    REFUSED = "refused"
    """The model would not judge it."""
    TRUNCATED = "truncated"
    """The judge's answer was cut off before its score."""
    NO_QUORUM = "no_quorum"
    """Too few judges of a jury gave a score."""
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    PROVIDER_AUTH = "provider_auth"
    PROVIDER_ERROR = "provider_error"
    SANDBOX_ERROR = "sandbox_error"
    """The sandbox did not start, or broke."""
    EVALUATOR_ERROR = "evaluator_error"
    """The user's code raised, or answered with what is no score."""
    BUDGET = "budget"
    """A budget had no room for it."""
    CANCELLED = "cancelled"
    INVALID_EXAMPLE = "invalid_example"
    """The example lacks what the evaluator needs, whatever the output is."""
    NOT_CHOSEN = "not_chosen"
    """Routing did not choose it for a dear evaluator; with which probability it would have is stored with it."""
