"""Programs that run wherever a layer is mounted: with their own loader and libraries, whatever an image has of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from proctor.agents.layers.registries import LayerFailed
from proctor.settings import clean_environment

__all__ = ["LOADER", "add_libraries", "own_loader"]

LOADER: str = "lib/loader"
"""The loader of a runtime's programs, relative to its layer."""
_LIBRARY = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_LOADER = re.compile(r"^\s*(/\S*/ld-linux\S*) \(0x", re.MULTILINE)


def own_loader(layer: str, program: str) -> tuple[str, ...]:
    """How a program of a runtime is started in a sandbox that has the runtime at ``layer``.

    Named on the command line and not by a variable: the commands that an agent runs must not inherit our libraries.
    """
    return (f"{layer}/{LOADER}", "--library-path", f"{layer}/lib", f"{layer}/{program}")


def add_libraries(tree: Path, programs: Iterable[Path]) -> None:
    """Copy into ``tree/lib`` the loader and all libraries that these need. Raises ``LayerFailed`` without glibc."""
    target = tree / "lib"
    target.mkdir(exist_ok=True)
    for program in programs:
        said = _ldd(program)
        for name, source in _LIBRARY.findall(said):
            if not (target / name).exists():
                shutil.copyfile(source, target / name)
        for source in _LOADER.findall(said):
            if not (tree / LOADER).exists():
                shutil.copyfile(source, tree / LOADER)
                (tree / LOADER).chmod(0o755)
    if not (tree / LOADER).exists():
        raise LayerFailed("agents need a worker whose system is built on glibc")


def _ldd(program: Path) -> str:
    done = subprocess.run(
        ["ldd", str(program)], env=clean_environment(), capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout
