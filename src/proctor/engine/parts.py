"""What every attempt of a worker shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.agents.catalogue import build_agent
from proctor.agents.interfaces import Agent
from proctor.agents.layers.store import LayerStore
from proctor.engine.assignments import Assignment, TaskLibrary
from proctor.engine.attempt_models import Models
from proctor.engine.service_faults import ServiceFaults
from proctor.kernel.canonical import Json
from proctor.kernel.clock import Clock
from proctor.objects.store import ObjectStore
from proctor.sandboxes.interfaces import SandboxBackend

__all__ = ["RunnerParts"]


@dataclass(frozen=True, kw_only=True)
class RunnerParts:
    """What every attempt of a worker shares."""

    backend: SandboxBackend
    objects: ObjectStore
    library: TaskLibrary
    clock: Clock
    owner: str
    scratch: Path
    agents: Callable[[str, Mapping[str, Json]], Agent] = build_agent
    """Makes an agent from its name and options. Raises ``ProfileInvalid``."""
    layers: LayerStore | None = None
    """Where the programs of agents are; ``None``: only agents without any can run."""
    remarks: Callable[[], Mapping[str, Json]] = dict
    """Asked at the end of each phase for what its evidence says besides; no rule looks at it."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    opener: Callable[[Assignment], Mapping[str, str]] | None = None
    """Opens the secrets of an attempt's own tenant as it starts; ``None``: ``secrets`` are those of all attempts.
    Raises ``SecretMissing``, ``SecretsClosed``."""
    models: Models | None = None
    """``None``: models are not reached from here."""
    images: dict[str, str] = field(default_factory=dict)
    """What images are by digest, as they were resolved before the first attempt."""
    references: dict[str, str] = field(default_factory=dict)
    """What verifiers that broke said of the reference solution, by task and policies: asked once a worker."""
    services: ServiceFaults = field(default_factory=ServiceFaults)
    """What services that did not become ready have done before."""

    @property
    def sandbox_secrets(self) -> Mapping[str, str]:
        """The secrets that may enter a sandbox: no provider's key does, whoever's variable refers to it."""
        kept_outside = frozenset() if self.models is None else self.models.keys
        return {name: value for name, value in self.secrets.items() if name not in kept_outside}
