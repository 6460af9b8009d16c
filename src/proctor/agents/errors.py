"""What can go wrong with agents.

AgentError
├── ProfileInvalid      no such agent, model or option: the user's, never the model's
├── AgentSetupFailed    its files did not get into the sandbox: infrastructure
└── ProviderFailed      the last model call failed, as Proctor's own gateway saw it: the provider's
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.kernel.canonical import Json
from proctor.kernel.errors import ProctorError, UsageError

__all__ = ["AgentSetupFailed", "ProfileInvalid", "ProviderFailed"]


class ProfileInvalid(UsageError):
    """The profile asks for an agent or option that does not exist."""

    code = "profile-invalid"
    remedy = "`proctor profile list` names the agents and what each needs."


class AgentSetupFailed(ProctorError):
    """The agent could not be set up in the sandbox."""

    code = "agent-setup"


class ProviderFailed(ProctorError):
    """The model's provider refused or broke the last call, after retries, and none succeeded later."""

    code = "provider"
    remedy = "See what the provider said; `proctor resume` goes on after a change of credentials."

    def __init__(
        self,
        message: str = "",
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
        where: str | None = None,
    ) -> None:
        """``http_status`` is ``None`` where the connection broke; ``retry_after`` in seconds, where it was said."""
        super().__init__(message, where=where)
        self.http_status, self.retry_after = http_status, retry_after

    def facts(self) -> Mapping[str, Json]:
        """The fields of its evidence."""
        known: dict[str, Json] = {"http_status": self.http_status, "retry_after": self.retry_after}
        return {name: value for name, value in known.items() if value is not None}
