"""What can go wrong with models.

ProctorError
├── UsageError
│   ├── ProvidersInvalid    the providers' file can't be used
│   ├── ProviderUnknown     a model's provider is none that is known
│   ├── PriceUnknown        a hard budget can't hold what has no price
│   └── ModelsExtraMissing  a library that models need is not installed
├── RequestInvalid          a request can't be read, or asks what its wire can't say
├── ReplyInvalid            a provider's reply can't be read
├── ModelUndeclared         an agent asks for a model that its profile does not declare
├── LimitReached            the attempt's own cost or tokens are used up
├── BudgetExhausted         a budget has no room for a call's worst case
└── CallFailed              a provider refused or broke a call, after retries
"""

from __future__ import annotations

from proctor.kernel.errors import ProctorError, UsageError
from proctor.models.wires.interfaces import Fault

__all__ = [
    "BudgetExhausted",
    "CallFailed",
    "LimitReached",
    "ModelUndeclared",
    "ModelsExtraMissing",
    "PriceUnknown",
    "ProviderUnknown",
    "ProvidersInvalid",
    "ReplyInvalid",
    "RequestInvalid",
]


class ProvidersInvalid(UsageError):
    """The providers' file can't be used."""

    code = "providers-invalid"
    remedy = "Correct it; docs/reference/providers.md says what it may hold."


class ProviderUnknown(UsageError):
    """There is no such provider."""

    code = "provider-unknown"
    remedy = "`proctor provider list` names those there are; others go into the providers' file."


class PriceUnknown(UsageError):
    """The model has no known price, and a hard budget can't hold what has none."""

    code = "price-unknown"
    remedy = "Give it a price in the providers' file, or run without a budget."


class ModelsExtraMissing(UsageError):
    """Models need an extra that is not installed."""

    code = "models-extra"
    remedy = "Install Proctor with it: pip install -e '.[models]' in its folder."


class RequestInvalid(ProctorError):
    """The request can't be read."""

    code = "model-request-invalid"


class ReplyInvalid(ProctorError):
    """The provider's reply can't be read."""

    code = "reply-invalid"


class ModelUndeclared(ProctorError):
    """The profile does not declare this model."""

    code = "model-undeclared"


class BudgetExhausted(ProctorError):
    """The budget has no room for the worst case of this call."""

    code = "budget-exhausted"
    remedy = "Raise the budget, then `proctor resume`."

    def __init__(self, message: str = "", *, scope: str = "", where: str | None = None) -> None:
        """``scope``: whose budget it is: ``tenant``, ``user``, ``run_set`` or ``profile``."""
        super().__init__(message, where=where)
        self.scope = scope


class LimitReached(ProctorError):
    """The attempt has used up what it may: its cost or its tokens."""

    code = "model-limit"

    def __init__(self, message: str = "", *, limit: str, where: str | None = None) -> None:
        """``limit``: ``cost`` or ``tokens``."""
        super().__init__(message, where=where)
        self.limit = limit


class CallFailed(ProctorError):
    """The provider refused the call or broke it off, after retries."""

    code = "call-failed"

    def __init__(
        self, message: str, *, fault: Fault, http_status: int | None, retry_after: float | None = None
    ) -> None:
        """``http_status`` is ``None`` where there was no answer; ``retry_after`` in seconds, where it was said."""
        super().__init__(message)
        self.fault, self.http_status, self.retry_after = fault, http_status, retry_after
