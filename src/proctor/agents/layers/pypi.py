"""Layers from PyPI: resolved for one Python to versions with hashes, installed from wheels alone."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from proctor.agents.layers.locks import Layer
from proctor.agents.layers.registries import LayerFailed, Registries
from proctor.kernel.canonical import Json

__all__ = ["SITE", "install_pypi", "requirement_lines", "resolve_pypi"]

SITE: str = "site"
"""Where the packages are in a layer."""


def resolve_pypi(package: str, version: str, python: str, registries: Registries) -> tuple[str, dict[str, Json]]:
    """The exact version and the lock of a package for that Python. Raises ``LayerFailed``.

    ``version``: ``latest`` or one; only wheels are considered, so that nothing of a package runs when it is installed.
    """
    wanted = package if version == "latest" else f"{package}=={version}"
    said = registries.pip(
        *("install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", "-", wanted),
        python=python,
    )
    packages: dict[str, Json] = {}
    exact = ""
    for item in json.loads(said)["install"]:
        name, found = str(item["metadata"]["name"]), str(item["metadata"]["version"])
        packages[name] = [found, "sha256:" + item["download_info"]["archive_info"]["hashes"]["sha256"]]
        exact = found if _same(name, package) else exact
    if not exact:
        raise LayerFailed(f"pip resolved {wanted} to nothing")
    return exact, {"package": package, "packages": dict(sorted(packages.items()))}


def _same(one: str, other: str) -> bool:
    plain = [name.lower().replace("_", "-").replace(".", "-") for name in (one, other)]
    return plain[0] == plain[1]


def requirement_lines(packages: Json) -> str:
    """A requirements file that pip takes these and no other files for."""
    assert isinstance(packages, dict)
    lines = []
    for name, pinned in packages.items():
        assert isinstance(pinned, list)
        version, *hashes = pinned
        lines.append(" ".join([f"{name}=={version}", *(f"--hash={one}" for one in hashes)]))
    return "".join(f"{line}\n" for line in lines)


def install_pypi(layer: Layer, tree: Path, python: str, registries: Registries) -> None:
    """Lay out the packages of a lock, each checked against its hash, and what starts their programs."""
    (tree / "requirements.txt").write_text(requirement_lines(layer.lock["packages"]))
    registries.pip(
        *("install", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--ignore-installed"),
        *("--target", str(tree / SITE), "--requirement", str(tree / "requirements.txt")),
        python=python,
    )
    (tree / "start.py").write_text(files("proctor.agents.layers").joinpath("start.py").read_text(encoding="utf-8"))
