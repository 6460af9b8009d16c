"""Where a cell waits: the provider, the registries and the declared limits that it has to pass. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from proctor.engine.breakers import Kind, Scope
from proctor.engine.spec import RunSetSpec

__all__ = ["Allowed", "Lane", "PlannedLimit", "lane_of", "limits_of"]


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """What may run at once and start in a minute; ``None``: as much as it likes."""

    concurrency: int | None = None
    per_minute: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlannedLimit:
    """What a run set allows one of its providers or profiles."""

    what: str
    name: str
    allowed: Allowed

    def key(self, run_set: UUID) -> str:
        """The queue's name of it: a limit holds for its run set's cells."""
        return f"limit/{run_set}/{self.what}/{self.name}"


class Lane(NamedTuple):
    """A lane's name and the gates that its rows wait for."""

    name: str
    gates: tuple[str, ...]


def lane_of(provider: str, images: Iterable[str], limits: Sequence[str]) -> Lane:
    """The lane of a cell. One that waits for its provider alone is in the provider's own."""
    scopes = [Scope(kind=Kind.PROVIDER, name=provider), *sorted({Scope.of_image(image) for image in images})]
    gates = (*(scope.key for scope in scopes), *limits)
    return Lane(f"lane/{' + '.join(gates)}", gates) if len(gates) > 1 else Lane(provider, ())


def limits_of(spec: RunSetSpec, profile: str, provider: str) -> tuple[PlannedLimit, ...]:
    """The limits of a run-set file that a profile's cells come under."""
    return tuple(
        PlannedLimit(
            what="profile" if limit.profile is not None else "provider",
            name=limit.profile or limit.provider or "",
            allowed=Allowed(concurrency=limit.concurrency, per_minute=limit.per_minute),
        )
        for limit in spec.limits
        if limit.profile == profile or (limit.provider is not None and limit.provider == provider)
    )
