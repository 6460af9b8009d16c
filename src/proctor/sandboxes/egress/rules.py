"""Which hosts may be reached, and at which addresses. Pure functions.

An entry of an allowlist is a host name, ``*.name`` for every name below it, an address or a network (the field's
``allowed_hosts``). A name on the list is still reached at public addresses alone: whoever owns the name says what it
resolves to, and must not be able to say "the machine that the worker runs on".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

__all__ = ["Address", "Rules"]

Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_LONGEST_NAME = 253
_CARRIERS: tuple[IPv6Network, ...] = tuple(
    IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
)
"""IPv6 addresses that stand for an IPv4 address (NAT64, 6to4, Teredo): a way around what is said of that one."""


class Rules:
    """An allowlist, and the networks beyond the public ones that the operator opens."""

    def __init__(self, hosts: Iterable[str], *, opened: Iterable[str] = ()) -> None:
        """``opened``: networks in CIDR form. Raises ``ValueError`` for one that is not."""
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        self._networks: list[_Network] = []
        self._opened = [ip_network(one) for one in opened]
        for host in hosts:
            self._add(host)

    def _add(self, host: str) -> None:
        try:
            self._networks.append(ip_network(host))
        except ValueError:
            name = host.lower().rstrip(".")
            if name.startswith("*."):
                self._suffixes.append(name[1:])
            else:
                self._names.add(name)

    def permits(self, host: str) -> bool:
        """Whether a host, as a client names it, is on the list."""
        address = _literal(host)
        if address is not None:
            return any(address in network for network in self._networks)
        name = host.lower().rstrip(".")
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            return False
        return name in self._names or any(name.endswith(suffix) for suffix in self._suffixes)

    def reachable(self, addresses: Sequence[str], is_own: Callable[[Address], bool] = lambda _: False) -> list[str]:
        """Those addresses that may be connected to, in their order. ``is_own``: whether one is this machine's."""
        return [text for text in addresses if self._is_reachable(ip_address(text.partition("%")[0]), is_own)]

    def _is_reachable(self, address: Address, is_own: Callable[[Address], bool]) -> bool:
        plain = _plain(address)
        if any(plain in network for network in self._opened):
            return True
        carried = isinstance(plain, IPv6Address) and any(plain in carrier for carrier in _CARRIERS)
        if is_own(plain):
            return False
        return plain.is_global and not plain.is_multicast and not carried


def _literal(host: str) -> Address | None:
    try:
        return _plain(ip_address(host))
    except ValueError:
        return None


def _plain(address: Address) -> Address:
    """An IPv4 address that is written as an IPv6 one, as what it is."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped if mapped is not None else address
