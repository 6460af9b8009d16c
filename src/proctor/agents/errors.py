"""What can go wrong with agents.

AgentError
├── ProfileInvalid      no such agent, model or option: the user's, never the model's
└── AgentSetupFailed    its files did not get into the sandbox: infrastructure
"""

from __future__ import annotations

from proctor.kernel.errors import ProctorError, UsageError

__all__ = ["AgentSetupFailed", "ProfileInvalid"]


class ProfileInvalid(UsageError):
    """The profile asks for an agent or option that does not exist."""

    code = "profile-invalid"
    remedy = "`proctor profile list` names the agents and what each needs."


class AgentSetupFailed(ProctorError):
    """The agent could not be set up in the sandbox."""

    code = "agent-setup"
