"""Errors of health.

ProctorError
└── UsageError
    └── AcknowledgementUnknown      nobody has acknowledged that alert, or its time is over
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = ["AcknowledgementUnknown"]


class AcknowledgementUnknown(UsageError):
    """Nobody has acknowledged that alert, or its time is over."""

    code = "acknowledgement-unknown"
    remedy = "GET /api/v1/alerts/acknowledgements lists those there are."
