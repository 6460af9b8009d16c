"""What can go wrong with the mock provider.

ProctorError
└── UsageError
    └── MockScriptInvalid    its script can't be used
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = ["MockScriptInvalid"]


class MockScriptInvalid(UsageError):
    """The script of the mock provider can't be used."""

    code = "mock-script-invalid"
    remedy = "Correct it; docs/reference/mock.md says what it may hold."
