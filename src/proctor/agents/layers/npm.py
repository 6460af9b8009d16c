"""Layers from npm: resolved to a lock with integrity hashes, installed from it with every script disabled."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from proctor.agents.layers.locks import Layer
from proctor.agents.layers.node import npm_cli
from proctor.agents.layers.programs import own_loader
from proctor.agents.layers.registries import LayerFailed, Registries
from proctor.kernel.canonical import Json

__all__ = ["install_npm", "resolve_npm"]

_KEPT: tuple[str, ...] = (
    "name",
    "version",
    "integrity",
    "dependencies",
    "optionalDependencies",
    "os",
    "cpu",
    "libc",
    "bin",
)
"""What npm has to know of a package to lay it out; ``optional`` besides, where it is."""
_EDGES: tuple[str, ...] = ("dependencies", "optionalDependencies")
_PROJECT: dict[str, Json] = {"name": "layer", "version": "1.0.0", "private": True}
_ROOT: str = "node_modules/"


def resolve_npm(package: str, version: str, node: Path, registries: Registries) -> tuple[str, dict[str, Json]]:
    """The exact version and the lock of a package; ``node`` is the prepared runtime. Raises ``LayerFailed``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "package.json").write_text(json.dumps({**_PROJECT, "dependencies": {package: version}}))
        wanted = ("install", "--package-lock-only", "--omit=dev", "--omit=peer", "--omit-lockfile-registry-resolved")
        registries.npm(own_loader(str(node), "bin/node"), npm_cli(node), folder, *wanted)
        found = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    packages = {path: _compact(entry) for path, entry in found.items() if path and _is_for_us(entry)}
    for entry in packages.values():
        _drop_missing(entry, packages)
    chosen = packages.get(_ROOT + package)
    if chosen is None:
        raise LayerFailed(f"npm resolved {package}@{version} to nothing")
    return str(chosen["version"]), {"package": package, "packages": dict(packages)}


def _is_for_us(entry: Mapping[str, Json]) -> bool:
    """Other systems' binaries would make a lock several times as long; npm leaves them out here anyway."""
    systems, libc = entry.get("os"), entry.get("libc")
    return (not isinstance(systems, list) or "linux" in systems) and (not isinstance(libc, list) or "glibc" in libc)


def _compact(entry: Mapping[str, Json]) -> dict[str, Json]:
    kept = {name: entry[name] for name in _KEPT if name in entry}
    return {**kept, "optional": True} if entry.get("optional") or entry.get("devOptional") else kept


def _drop_missing(entry: dict[str, Json], packages: Mapping[str, Mapping[str, Json]]) -> None:
    """npm refuses a lock that names an optional package and does not have it, as where a registry lacks a platform."""
    names = {path.rpartition(_ROOT)[2] for path in packages}
    for edge in _EDGES:
        wanted = entry.get(edge)
        if isinstance(wanted, dict):
            entry[edge] = {name: said for name, said in wanted.items() if name in names}


def install_npm(layer: Layer, tree: Path, node: Path, registries: Registries) -> None:
    """Lay out the packages of a lock, each checked against its integrity hash. Raises ``LayerFailed``."""
    package, packages = layer.lock["package"], layer.lock["packages"]
    assert isinstance(package, str)
    assert isinstance(packages, dict)
    project: dict[str, Json] = {**_PROJECT, "dependencies": {package: layer.version}}
    lock: dict[str, Json] = {**_PROJECT, "lockfileVersion": 3, "requires": True, "packages": {"": project, **packages}}
    (tree / "package.json").write_text(json.dumps(project))
    (tree / "package-lock.json").write_text(json.dumps(lock))
    registries.npm(own_loader(str(node), "bin/node"), npm_cli(node), tree, "ci", "--omit=dev", "--omit=peer")
