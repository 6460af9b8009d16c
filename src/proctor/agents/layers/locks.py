"""What a layer is made from: exact versions with the hashes of their files."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from proctor.kernel.canonical import Json, digest

__all__ = ["RECIPE", "Layer", "LayerKind", "architecture"]

RECIPE: int = 1
"""The revision of how layers are made: raised when the same lock would give another tree."""


class LayerKind(StrEnum):
    """How a layer is made."""

    NODE = "node"
    """Node's program from its wheel, with the libraries that it needs."""
    PYTHON = "python"
    """A copy of a Python of this machine, with the libraries that it needs."""
    NPM = "npm"
    PYPI = "pypi"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One tree of files, by what it is made from."""

    name: str
    """What it is called inside: ``/proctor-layers/NAME``."""
    kind: LayerKind
    version: str
    lock: Mapping[str, Json]
    needs: tuple[str, ...] = ()
    """Files that have to be there when it is ready, relative to its root."""

    @property
    def digest(self) -> str:
        """What it is made from, 64 hex characters."""
        return digest({"kind": self.kind.value, "name": self.name, "lock": dict(self.lock), "recipe": RECIPE})


def architecture() -> str:
    """This machine's, in npm's words: ``x64`` or ``arm64``."""
    return {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
