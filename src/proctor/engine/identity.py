"""Identity: what makes two results results of the same thing.

The configuration hash is sha256 over RFC 8785 JSON of everything that can change a result. Endpoints, ports,
credentials, workers, concurrency and display names are routing and never in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from proctor.kernel.canonical import Json, digest
from proctor.kernel.ids import derived_id

__all__ = ["ORIGIN_OWN", "ConfigurationParts", "attempt_id", "cell_id", "configuration_document", "run_set_id"]

ORIGIN_OWN: str = "own"
"""Results we made; an import's origin is ``import:<source digest>``, so it is never reused as ours."""


@dataclass(frozen=True, kw_only=True)
class ConfigurationParts:
    """Everything of a profile that can change a result; resolved, never ``latest``."""

    agent: str
    agent_version: str
    layer_digest: str | None
    model: str | None
    thinking: str | None
    variant: str | None
    sampling: Mapping[str, Json] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict)
    """The agent's own settings: prompts, skills, MCP servers, a script's or command's content."""
    policies: Mapping[str, Json]
    """``task`` or the override, never the values resolved per task."""
    backend: str
    environment: Mapping[str, str]
    fault_plan: Mapping[str, Json] | None = None
    """What is made to fail on purpose, with the plan's digest: such results are of a configuration of their own."""
    origin: str = ORIGIN_OWN


def configuration_document(parts: ConfigurationParts) -> tuple[str, dict[str, Json]]:
    """The configuration hash, 64 hex characters, and the document it is taken over."""
    document: dict[str, Json] = {
        "agent": {"name": parts.agent, "version": parts.agent_version, "layer": parts.layer_digest},
        "model": parts.model,
        "thinking": parts.thinking,
        "variant": parts.variant,
        "sampling": dict(parts.sampling),
        "fallbacks": list(parts.fallbacks),
        "options": dict(parts.options),
        "policies": dict(parts.policies),
        "sandbox": {"backend": parts.backend, "environment": dict(parts.environment)},
        "fault_plan": None if parts.fault_plan is None else dict(parts.fault_plan),
        "origin": parts.origin,
    }
    return digest(document), document


def cell_id(tenant: UUID, configuration: str, agent_digest: str, verifier_digest: str, trial: int) -> UUID:
    """One configuration on one task for one trial number; it exists once per tenant, whoever asks for it."""
    return derived_id("cell", tenant, configuration, agent_digest, verifier_digest, trial)


def attempt_id(tenant: UUID, cell: UUID, number: int) -> UUID:
    """The attempt's id, from its cell and number."""
    return derived_id("attempt", tenant, cell, number)


def run_set_id(tenant: UUID, name: str, spec_digest: str, suite_id: str, continued: int) -> UUID:
    """A run set is found again by its name, its file as written and its suite."""
    return derived_id("run-set", tenant, name, spec_digest, suite_id, continued)
