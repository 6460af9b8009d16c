"""What a container may reach: nothing, the proxy that stands on its loopback, or a network of the engine's.

All containers that may reach everything share one network, on which they can't see each other: a network for each
would use up the engine's addresses. All others have a loopback and nothing else, so that no rule of a firewall stands
between an agent and the world, and no resolver is asked.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping
from dataclasses import dataclass

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.docker.labels import OURS
from proctor.sandboxes.egress import PROXY, EgressProxy, Rules, proxy_variables
from proctor.sandboxes.egress.namespaces import listener_in
from proctor.sandboxes.errors import SandboxStartError, UnsupportedByBackend
from proctor.sandboxes.interfaces import Network, Reach, SandboxSpec

__all__ = ["ContainerNetwork", "Ways", "engine_network"]

_NONE, _PUBLIC = "none", "proctor-public"
_APART = "com.docker.network.bridge.enable_icc"


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What this worker can do about the networks of its engine's containers."""

    enters: bool
    """Whether it can listen inside of one: as root, on the engine's machine and its kernel."""
    switches: bool
    opened: tuple[str, ...] = ()
    """Networks in CIDR form that an allowlist may lead to although they are not public."""

    def refuse(self, reach: Reach) -> None:
        """Raises ``UnsupportedByBackend`` for what can't be had."""
        if reach.network is Network.ALLOWLIST and not self.enters:
            why = "an allowlist needs a worker that is root on the engine's machine, and a runtime on its kernel"
            raise UnsupportedByBackend(why, where="network")


class ContainerNetwork:
    """The network of one container; the caller sees to it that nothing starts, stops or switches in between."""

    def __init__(self, engine: Engine, container: str, spec: SandboxSpec, ways: Ways) -> None:
        self._engine, self._container, self._ways = engine, container, ways
        self._beside = [service.place.name for service in spec.services]
        self.reach = spec.reach
        self._proxy: EgressProxy | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """What commands must know to find their way out."""
        return proxy_variables(self._beside) if self.reach.network is Network.ALLOWLIST else {}

    async def started(self) -> None:
        """The container's first process is new, and so is its loopback. Raises ``SandboxStartError``."""
        await self.close()
        if self.reach.network is Network.ALLOWLIST:
            await self._open()

    async def switch(self, reach: Reach) -> None:
        """Give a running container another network. Raises ``UnsupportedByBackend``, ``EngineError``."""
        self._ways.refuse(reach)
        if self._beside or not self._ways.switches:
            raise UnsupportedByBackend("this running container can't be given another network", where="network")
        was, wanted = await engine_network(self._engine, self.reach), await engine_network(self._engine, reach)
        if was != wanted:
            body = {"Container": self._container, "Force": True}
            await self._engine.ask("POST", f"networks/{was}/disconnect", body)
            await self._engine.ask("POST", f"networks/{wanted}/connect", {"Container": self._container})
        self.reach = reach
        await self.started()

    async def close(self) -> None:
        """Break off what goes through the proxy."""
        if self._proxy is not None:
            await self._proxy.close()
            self._proxy = None

    async def _open(self) -> None:
        state = (await self._engine.ask("GET", f"containers/{self._container}/json"))["State"]
        try:
            listener = await asyncio.to_thread(listener_in, int(state["Pid"]), PROXY)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:  # what an agent put in the first process's way is in its own way
                return
            raise SandboxStartError(f"no way into the container's network: {error}", where=self._container) from error
        self._proxy = EgressProxy(Rules(self.reach.hosts, opened=self._ways.opened))
        await self._proxy.open(listener)


async def engine_network(engine: Engine, reach: Reach) -> str:
    """The engine's network for what may be reached; the public one is made when it is first asked for."""
    if reach.network is not Network.PUBLIC:
        return _NONE
    body = {"Name": _PUBLIC, "CheckDuplicate": True, "Options": {_APART: "false"}, "Labels": {f"{OURS}.shared": ""}}
    try:
        await engine.ask("GET", f"networks/{_PUBLIC}")
    except EngineError as error:
        if error.status != 404:
            raise
        try:
            await engine.ask("POST", "networks/create", body)
        except EngineError as taken:
            if taken.status != 409:  # another was first
                raise
    return _PUBLIC
