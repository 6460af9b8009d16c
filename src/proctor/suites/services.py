"""The services of a task, as its Compose file declares them: what runs beside the sandbox that the agent is in.

Values are complete, as everywhere in a task. Paths are below ``environment/``; nothing here names anything of a host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Build", "Composed", "Mount", "Readiness", "ReadyProbe", "Service", "SharedVolume"]


class Readiness(StrEnum):
    """What a service waits for in another."""

    STARTED = "service_started"
    HEALTHY = "service_healthy"
    COMPLETED = "service_completed_successfully"


@dataclass(frozen=True, kw_only=True)
class Build:
    """A folder below ``environment/`` (``.`` is all of it) and the Dockerfile in it."""

    context: str = "."
    dockerfile: str = "Dockerfile"


@dataclass(frozen=True, kw_only=True)
class ReadyProbe:
    """A command that succeeds when a service is ready; without words there is none, whatever the image says."""

    argv: tuple[str, ...] = ()
    interval_sec: float = 30.0
    timeout_sec: float = 30.0
    start_period_sec: float = 0.0
    retries: int = 3


@dataclass(frozen=True, kw_only=True)
class Mount:
    """A file or folder below ``environment/`` that is copied in."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class SharedVolume:
    """A named volume and where it is."""

    name: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Service:
    """One service. Without ``image`` and ``build`` it has the image of the task itself."""

    name: str
    image: str | None = None
    build: Build | None = None
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    volumes: tuple[SharedVolume, ...] = ()
    probe: ReadyProbe | None = None
    needs: Mapping[str, Readiness] = field(default_factory=dict)
    networks: tuple[str, ...] = ("default",)


@dataclass(frozen=True, kw_only=True)
class Composed:
    """All services of a Compose file. ``main`` is the one that the agent is in."""

    main: Service
    beside: tuple[Service, ...] = ()
    """In an order in which each comes after those that it waits for."""
    inward: tuple[str, ...] = ()
    """Networks that lead nowhere but to one another's services."""

    @property
    def names(self) -> frozenset[str]:
        """Every service, the main one too."""
        return frozenset({self.main.name, *(service.name for service in self.beside)})

    def outward(self, service: Service) -> bool:
        """Whether a service is in a network that leads outside, as far as the sandbox's does."""
        return any(network not in self.inward for network in service.networks)
