"""What Harbor's exceptions mean in our words, by the names of their classes.

Who is to blame for a model's call is the gateway's to say and never an exception's: those that speak of providers end
the agent as a crash would, and the gateway's own evidence comes before that.
"""

from __future__ import annotations

from dataclasses import dataclass

from proctor.agents.interfaces import AgentLimit

__all__ = ["Ended", "meaning"]

_SETUP: frozenset[str] = frozenset(
    {
        *("EnvironmentStartTimeoutError", "SandboxBuildFailedError", "AgentSetupTimeoutError", "HealthcheckError"),
        *("SSHAccessError", "RuntimeRequestError", "AddTestsDirError", "ServiceOperationsUnsupportedError"),
        *("DspyImportError", "MissingExtraError", "MissingModelCredentialError"),
    }
)
"""Its own machinery or its installation: not the agent's work."""
_CONTEXT: tuple[str, ...] = ("ContextWindow", "ContextLength", "OutputToken", "OutputLength")
"""How names of exceptions begin that say the model's window is full."""
_REFUSED: frozenset[str] = frozenset({"AgentSafetyRefusalError", "ContentPolicyViolationError"})
_TIME: frozenset[str] = frozenset({"AgentTimeoutError", "TimeoutError"})


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How an agent ended."""

    limit: AgentLimit | None = None
    refused: bool = False
    setup: bool = False
    """Whether it could not be set up: infrastructure."""


def meaning(error: BaseException) -> Ended:
    """Of an exception or any that it is derived from; what is unknown is a crash of the agent's."""
    names = [kind.__name__ for kind in type(error).__mro__]
    if any(name in _TIME for name in names):
        return Ended(limit=AgentLimit.TIME)
    if any(name.startswith(_CONTEXT) for name in names):
        return Ended(limit=AgentLimit.CONTEXT)
    return Ended(refused=any(name in _REFUSED for name in names), setup=any(name in _SETUP for name in names))
