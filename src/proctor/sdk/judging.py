"""What evaluators of a tenant may use in this process: sandboxes of this machine, and models through the gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.app import Platform
from proctor.evaluators.catalogue import Means
from proctor.evaluators.code.rooms import Rooms
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.interfaces import Labels
from proctor.settings import secret_values

if TYPE_CHECKING:
    from proctor.engine.attempt_models import Models
    from proctor.evaluators.interfaces import Embedder
    from proctor.jobs.outside import Asking, Resources

__all__ = ["Keys", "environment_keys", "means_of", "resources_of"]

Keys = Callable[[Sequence[str]], Mapping[str, str]]
"""Values of providers' keys by name; those that are not set may be missing."""


def environment_keys(names: Sequence[str]) -> Mapping[str, str]:
    """Of this machine's own environment; never for a tenant of a server."""
    return secret_values(names)[0]


@contextmanager
def means_of(platform: Platform, keys: Keys, *, user: str = "") -> Iterator[Means]:
    """For as long as it is open. ``user``: the id of whose budget pays for models; empty: nobody's."""
    opened: list[Models] = []

    def embedder(model: str) -> Embedder:
        from proctor.evaluators.embeddings.remote import GatewayEmbedder
        from proctor.models.calls import Payer
        from proctor.models.gateway.sessions import Declared, Session

        provider, _ = platform.known_models.catalogue.of(model)
        session = Session(Payer(tenant=platform.tenant, user=user), Declared(model=model), keys(provider.keys))
        opened.append(platform.open_models())
        return GatewayEmbedder(opened[-1].gateway, session)

    try:
        yield Means(rooms=lambda: _rooms(platform, platform.tenant), embedder=embedder)
    finally:
        for models in opened:
            models.gateway.close()


def resources_of(platform: Platform, keys: Callable[[UUID], Keys]) -> Resources:
    """What jobs may use in this process, with the keys of each job's own tenant."""
    from proctor.jobs.outside import Asking, Resources

    def opened() -> Asking:
        catalogue = platform.known_models.catalogue
        return Asking(
            gateway=platform.open_models().gateway,
            keys=lambda tenant, model: keys(tenant)(catalogue.of(model)[0].keys),
        )

    return Resources(asking=opened, rooms=lambda tenant: _rooms(platform, tenant))


def _rooms(platform: Platform, tenant: UUID) -> Rooms:
    """Each sandbox is labelled as a batch of its own."""
    owner = WorkerIdentity.of_this_process().owner

    def labels(lasting: timedelta) -> Labels:
        batch, expires_at = new_id(), SystemClock().now() + lasting
        return Labels(tenant=tenant, run_set=batch, attempt=batch, owner=owner, expires_at=expires_at)

    return Rooms(backend=platform.backend("local"), labels=labels)
