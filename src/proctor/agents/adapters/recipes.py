"""What is declared of an agent: where it comes from, how it is started, and how its log is read."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field

from proctor.agents.adapters.events import Event
from proctor.agents.layers.locks import LayerKind, architecture
from proctor.kernel.canonical import Json, digest
from proctor.models.wires.interfaces import WireName

__all__ = [
    "BASE",
    "HOME",
    "INSTRUCTION",
    "MODEL",
    "NO_EVENTS",
    "PROVIDER_WIRES",
    "THINKING",
    "TOKEN",
    "Recipe",
    "Start",
]

BASE: str = "@BASE@"
"""The address of the gateway, without a path."""
TOKEN: str = "@TOKEN@"  # noqa: S105 - a placeholder
MODEL: str = "@MODEL@"
"""The model by its provider's own name."""
THINKING: str = "@THINKING@"
INSTRUCTION: str = "@INSTRUCTION@"
HOME: str = "/var/tmp/proctor-agent"  # noqa: S108 - inside the sandbox
"""Where an agent keeps what is its own: outside of the task's folder, and of the home that the task's commands see.
Every image lets everybody write there, and Codex refuses to keep its helpers below ``/tmp``."""

PROVIDER_WIRES: Mapping[str, WireName] = {
    "anthropic": WireName.ANTHROPIC,
    "gemini": WireName.GEMINI,
    "google": WireName.GEMINI,
}
"""On which wire an agent that speaks several asks for a provider's models."""

ReadLine = Callable[[Mapping[str, Json]], Iterable[Event]]
"""What one line of an agent's JSON output says. Never raises, whatever the line is."""
ReadFile = Callable[[bytes], Iterable[Event]]
"""What an agent's log file says. Never raises, whatever is in it."""


def NO_EVENTS(_: Mapping[str, Json]) -> Iterable[Event]:  # noqa: N802 - a constant that is a function
    """Of an agent that prints no JSON."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Start:
    """How an agent is started on one wire. Placeholders are filled in words, variables and files alike, but the token:
    it is never on a command line."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """What it reads its settings from, by path."""
    stdin: str = ""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One agent."""

    name: str
    summary: str
    kind: LayerKind
    package: str
    program: str
    """Of npm: its path in the layer, started by the system, or by Node where it ends in ``.js``; ``@ARCH@`` and
    ``@MACHINE@`` are the machine's architecture in npm's and the kernel's words. Of PyPI: ``module:function``."""
    starts: Mapping[WireName, Start]
    """By the wires that it speaks; the first is for providers that none is named for."""
    wires: Mapping[str, WireName] = field(default_factory=dict)
    """By the provider of its model, where that asks for another."""
    thinking: tuple[str, ...] = ()
    """Words that tell it how much to think, after the others; empty: it can't be told."""
    reports: str
    """What it tells of itself, for a person."""
    read_line: ReadLine = NO_EVENTS
    log: str = ""
    """The file that it writes of its own, read at its end; empty: it prints everything."""
    read_file: ReadFile | None = None
    pythons: tuple[str, ...] = ()
    """Versions of Python that it runs on; of npm none."""
    unproved: tuple[str, ...] = ()
    """What could not be shown of it without a provider's key."""

    def wire(self, provider: str) -> WireName:
        """On which wire it asks for a provider's models."""
        return self.wires.get(provider) or next(iter(self.starts))

    @property
    def here(self) -> str:
        """Its program on a machine such as this one."""
        return self.program.replace("@ARCH@", architecture()).replace("@MACHINE@", platform.machine())

    @property
    def digest(self) -> str:
        """How it is started: a result of another command line is a result of something else."""
        starts: Json = {wire.value: asdict(start) for wire, start in self.starts.items()}
        return digest({"program": self.program, "starts": starts, "thinking": list(self.thinking), "log": self.log})
