"""The networks of one sandbox and its services, in which nobody else is.

Each network that a task names becomes an engine's bridge that leads nowhere: internal, and without an address of the
machine's own on it. ``Internal`` alone does not do: the machine would be at the bridge's first address, and whatever
listens on all of its addresses could be reached. What leads outside, where a sandbox may go there, is one more network
in which its containers don't see each other, so that a service that is kept from another stays apart.

Addresses come from 198.18.0.0/15, which is set aside for tests of networks (RFC 2544) and in nobody's LAN: an engine's
own pools end after about thirty networks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from typing import Any
from uuid import uuid4

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.docker.removing import remove_network
from proctor.sandboxes.errors import UnsupportedByBackend
from proctor.sandboxes.interfaces import Place

__all__ = ["BRIDGES", "CellNetworks"]

BRIDGES: str = "prc-"
"""The names of our bridges begin with it, for who wants a firewall's rule for them."""
_ADDRESSES = IPv4Network("198.18.0.0/15")
_PREFIX: int = 26
"""62 addresses for each: of the main container and 16 services at the most."""
_TRIES: int = 30
"""Other addresses are tried where these are taken; of 2,048 networks some hundreds may be."""
_BRIDGE = "com.docker.network.bridge"
_OUTSIDE = "proctor.outside"
"""No name of Compose's has such a one: a name there holds no network of ours."""
_DEAF = {"Dns": ["127.0.0.1"], "DnsOptions": ["timeout:1", "attempts:1"], "DnsSearch": ["."]}
"""An engine passes names that it does not know on to the machine's own servers, also for who is shut in: these
containers have the one answer that nobody else gives."""


class CellNetworks:
    """Made for the containers of one sandbox; removed when none of them is left."""

    def __init__(self, engine: Engine, cell: str, labels: Mapping[str, str], *, public: bool) -> None:
        self._engine, self._cell, self._labels, self._public = engine, cell, labels, public
        self._made: dict[str, str] = {}

    async def make(self, names: Iterable[str]) -> None:
        """The networks of these names, and the one that leads outside if the sandbox may go there.

        Raises ``UnsupportedByBackend`` for an engine of which it is not known that it keeps containers in.
        """
        engines = (await self._engine.ask("GET", "version")).get("Components") or []
        if any("podman" in str(one.get("Name", "")).lower() for one in engines):
            raise UnsupportedByBackend("Podman is not known to keep services from its machine", where="services")
        for name in sorted(names):
            self._made[name] = await self._make(name, sealed=True)
        if self._public:
            self._made[_OUTSIDE] = await self._make(_OUTSIDE, sealed=False)

    async def _make(self, name: str, *, sealed: bool) -> str:
        own = {f"{_BRIDGE}.inhibit_ipv4": "true"} if sealed else {f"{_BRIDGE}.enable_icc": "false"}
        body = {
            "Name": f"{self._cell}-{name}",
            "Driver": "bridge",
            "Internal": sealed,
            "Labels": self._labels,
            "Options": {f"{_BRIDGE}.name": f"{BRIDGES}{uuid4().hex[:11]}", **own},
        }
        for left in reversed(range(_TRIES)):
            pool = {"Config": [{"Subnet": str(_some_addresses())}]}
            try:
                return str((await self._engine.ask("POST", "networks/create", {**body, "IPAM": pool}))["Id"])
            except EngineError as error:
                if "overlap" not in error.words.lower() or not left:
                    raise
        raise AssertionError("unreachable: the last try returns or raises")

    def body(self, place: Place) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of a container's request to be made: its ``HostConfig`` and ``NetworkingConfig`` for the first network."""
        first = self._made[min(place.networks)]
        deaf = {} if self._public and place.outward else _DEAF
        return {"NetworkMode": first, **deaf}, {"EndpointsConfig": {first: {"Aliases": [place.name]}}}

    async def connect(self, container: str, place: Place) -> None:
        """Put a container that does not run yet into its other networks, in each under its name."""
        for name in sorted(place.networks)[1:]:
            await self._connect(container, name, {"Aliases": [place.name]})
        if self._public and place.outward:
            await self._connect(container, _OUTSIDE, {})

    async def _connect(self, container: str, name: str, endpoint: Mapping[str, Any]) -> None:
        body = {"Container": container, "EndpointConfig": endpoint}
        await self._engine.ask("POST", f"networks/{self._made[name]}/connect", body)

    async def remove(self) -> None:
        """Remove what was made; no container may be left in it."""
        for network in self._made.values():
            await remove_network(self._engine, network)


def _some_addresses() -> IPv4Network:
    step = 1 << (32 - _PREFIX)
    first = int(_ADDRESSES.network_address) + step * random.randrange(_ADDRESSES.num_addresses // step)  # noqa: S311
    return IPv4Network((first, _PREFIX))
