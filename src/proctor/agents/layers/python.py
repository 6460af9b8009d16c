"""Python's runtime: a copy of a Python of this machine with the libraries it needs, and the bridge to the gateway."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from proctor.agents.errors import ProfileInvalid
from proctor.agents.layers.locks import Layer, LayerKind, architecture
from proctor.agents.layers.programs import add_libraries, own_loader
from proctor.agents.layers.registries import LayerFailed
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import LAYERS
from proctor.settings import clean_environment, registry_environment

__all__ = ["PYTHON_PLACE", "Interpreter", "find_interpreter", "install_python", "python_command", "python_layer"]

PYTHON_PLACE: str = f"{LAYERS}/python"
_ASKED: str = (
    "import json,platform,sys,sysconfig as s;print(json.dumps({'path':sys.executable,'full':platform.python_version(),"
    "'version':'%d.%d'%sys.version_info[:2],'standard':s.get_path('stdlib'),'dynamic':s.get_path('platstdlib')}))"
)
_LEFT_OUT = shutil.ignore_patterns(
    *("site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3"),
    *("__pycache__", "config-*", "_tkinter*", "*.a"),
)
"""Of the standard library: what no program of an agent imports, half of its size."""


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """A Python of this machine."""

    path: str
    version: str
    """Such as ``3.11``."""
    full: str
    standard: str
    dynamic: str

    @property
    def key(self) -> str:
        """Which files of a package are for it."""
        return f"{self.version}-{architecture()}"


def find_interpreter(versions: Collection[str], package: str) -> Interpreter:
    """Our own where it is of one of these versions, else one on the path. Raises ``ProfileInvalid``."""
    for version in (_own_version(), *sorted(versions, reverse=True)):
        if version in versions and (found := _interpreter(version)) is not None:
            return found
    told = ", ".join(sorted(versions))
    raise ProfileInvalid(f"{package} runs on Python {told}, and this machine has none of them.", where="agent")


def _own_version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


@cache
def _interpreter(version: str) -> Interpreter | None:
    path = sys.executable if version == _own_version() else _on_path(version)
    if path is None:
        return None
    done = subprocess.run(
        [path, "-I", "-c", _ASKED],
        env={**clean_environment(), **registry_environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 0:  # such as a shim of a version manager that has no such version
        return None
    told = json.loads(done.stdout)
    return Interpreter(**told) if told["version"] == version else None


def _on_path(version: str) -> str | None:
    return shutil.which(f"python{version}", path=registry_environment().get("PATH"))


def python_layer(interpreter: Interpreter) -> Layer:
    """The runtime of every agent from PyPI that runs on that Python."""
    lock: dict[str, Json] = {"python": interpreter.full, "architecture": architecture(), "bridge": _bridge()}
    return Layer(
        name="python",
        kind=LayerKind.PYTHON,
        version=interpreter.full,
        lock=lock,
        needs=("bin/python", "bridge.py", "lib/loader"),
    )


def python_command(script: str) -> tuple[str, ...]:
    """How a script is started in a sandbox; ``-I``: with nothing of the folder or the environment of the task."""
    return (*own_loader(PYTHON_PLACE, "bin/python"), "-I", script)


def install_python(layer: Layer, tree: Path) -> None:
    """Copy the Python whose version the layer names. Raises ``LayerFailed``."""
    version = ".".join(layer.version.split(".")[:2])
    found = _interpreter(version)
    if found is None or found.full != layer.version:
        raise LayerFailed(f"this machine has no Python {layer.version}")
    target = tree / "lib" / f"python{version}"
    shutil.copytree(found.standard, target, ignore=_LEFT_OUT, symlinks=False, ignore_dangling_symlinks=True)
    if found.dynamic != found.standard:
        shutil.copytree(found.dynamic, target, ignore=_LEFT_OUT, dirs_exist_ok=True, ignore_dangling_symlinks=True)
    (tree / "bin").mkdir()
    program = tree / "bin" / "python"
    shutil.copyfile(Path(found.path).resolve(), program)
    program.chmod(0o755)
    (tree / "bridge.py").write_text(_bridge())
    add_libraries(tree, [Path(found.path).resolve(), *sorted((target / "lib-dynload").glob("*.so"))])


def _bridge() -> str:
    return files("proctor.agents.layers").joinpath("bridge.py").read_text(encoding="utf-8")
