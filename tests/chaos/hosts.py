"""Hosts of a fleet on one machine: a network namespace each, whose only wire goes to the database's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.rig import Home, Run

__all__ = ["Host", "hosts", "why_not"]

NETWORK: str = "10.213.{}.{}"
"""Of a host by its number; .1 is the database's end of the wire and .2 the host's."""


def why_not() -> str:
    """The reason to skip; empty where network namespaces can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root and ip (apt install iproute2)"
    made = subprocess.run(["ip", "netns", "add", "proctor-probe"], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"no network namespace can be made: {made.stderr.strip()}"
    _ip("netns", "del", "proctor-probe")
    return ""


@dataclass(frozen=True)
class Host:
    """A machine as the database sees one: an address of its own, and pids and a host name of its own too."""

    number: int
    name: str
    home: Home

    @property
    def database(self) -> str:
        """Where it reaches the database."""
        return NETWORK.format(self.number, 1)

    def start(self, *words: str, more: Mapping[str, str]) -> Run:
        """Start ``proctor`` here."""
        return self.home.start(*words, more=more, inside=self._inside())

    def cut_off(self) -> None:
        """Nothing gets through, and nobody is told: what is sent waits for an answer."""
        _ip("link", "set", f"{self.name}-out", "down")

    def join(self) -> None:
        """Plug the wire in again."""
        _ip("link", "set", f"{self.name}-out", "up")

    def _inside(self) -> list[str]:
        own = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return ["ip", "netns", "exec", self.name, *own, "sh", "-c", f'hostname {self.name}; exec "$@"', "sh"]


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """So many hosts, their wires plugged in; all gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hosts-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        made: list[Host] = []
        try:
            for number in range(count):
                made.append(_make(number, Path(folder)))
            yield made
        finally:
            for host in made:
                for run in host.home.living:
                    run.kill()
                _ip("netns", "del", host.name)


def _make(number: int, folder: Path) -> Host:
    name = f"prt{os.getpid() % 10_000}-{number}"
    place = folder / name
    for one in (place, place / "tmp", place / "control"):
        one.mkdir(mode=0o711)
    outer, inner = f"{name}-out", f"{name}-in"
    _ip("netns", "add", name)
    _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
    _ip("addr", "add", f"{NETWORK.format(number, 1)}/24", "dev", outer)
    _ip("link", "set", outer, "up")
    for words in (("addr", "add", f"{NETWORK.format(number, 2)}/24", "dev", inner), ("link", "set", inner, "up")):
        _ip("-n", name, *words)
    _ip("-n", name, "link", "set", "lo", "up")
    return Host(number, name, Home(place))


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
