"""A task's services as a backend is asked for them: images, the run set's secrets and the task's files filled in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.sandboxes.interfaces import Condition, Place, Probe, ServiceSpec, Volume
from proctor.suites.services import Composed, ReadyProbe, Service
from proctor.suites.variables import resolve_variables

__all__ = ["place_of", "service_specs"]


def service_specs(
    composed: Composed, folder: Path, images: Mapping[str, str], secrets: Mapping[str, str]
) -> tuple[ServiceSpec, ...]:
    """What runs beside a sandbox, in an order to start it in; ``folder`` holds the task's files."""
    return tuple(
        ServiceSpec(
            place=place_of(composed, service, folder),
            image=images[service.name],
            entrypoint=service.entrypoint,
            command=service.command,
            env=resolve_variables(service.env, secrets),
            probe=None if service.probe is None else _probe(service.probe),
        )
        for service in composed.beside
    )


def place_of(composed: Composed, service: Service, folder: Path) -> Place:
    """Where a service stands among the others."""
    return Place(
        name=service.name,
        networks=frozenset(service.networks),
        outward=composed.outward(service),
        volumes={one.target: Volume(name=one.name, read_only=one.read_only) for one in service.volumes},
        files={one.target: folder / "environment" / one.source for one in service.mounts},
        needs={name: Condition(needed.value) for name, needed in service.needs.items()},
    )


def _probe(probe: ReadyProbe) -> Probe:
    return Probe(
        argv=probe.argv,
        interval_sec=probe.interval_sec,
        timeout_sec=probe.timeout_sec,
        start_period_sec=probe.start_period_sec,
        retries=probe.retries,
    )
