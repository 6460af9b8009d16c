"""Where layers are kept on a machine: each is made once, by whoever needs it first, and never changed afterwards."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.node import install_node, node_layer
from proctor.agents.layers.npm import install_npm, resolve_npm
from proctor.agents.layers.pypi import install_pypi, resolve_pypi
from proctor.agents.layers.python import find_interpreter, install_python
from proctor.agents.layers.registries import LayerFailed, Registries
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import LAYERS

__all__ = ["LayerStore"]

_READY: str = "layer.json"
"""Written into a tree when all of it is there: which layer it is, for a reader."""


def _silent(_: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, kw_only=True)
class LayerStore:
    """A folder of layers by their digests. Blocking: run it in a thread."""

    folder: Path
    registries: Registries = field(default_factory=Registries.of_this_machine)

    def path(self, layer: Layer) -> Path | None:
        """Its tree, ``None`` where it is not prepared."""
        tree = self.folder / layer.digest
        return tree if tree.is_dir() else None

    def prepare(self, layers: Sequence[Layer], progress: Callable[[str], None] = _silent) -> dict[str, Path]:
        """Their trees by the places where a sandbox has them, made if they are not there. Raises ``LayerFailed``."""
        return {f"{LAYERS}/{layer.name}": self._prepared(layer, progress) for layer in layers}

    def resolve(self, kind: LayerKind, package: str, version: str, python: str) -> tuple[str, dict[str, Json]]:
        """The exact version and the lock of a package, ``latest`` too. Raises ``LayerFailed``."""
        if kind is LayerKind.NPM:
            return resolve_npm(package, version, self._prepared(node_layer(), _silent), self.registries)
        return resolve_pypi(package, version, python, self.registries)

    def remember(self, name: str, lock: Json) -> None:
        """Keep a lock that was resolved here, so that the same version is the same layer from now on."""
        target = self._locks / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(lock, sort_keys=True))
        draft.rename(target)

    def recall(self, name: str) -> Json:
        """A lock that was kept, ``None`` where there is none."""
        try:
            found: Json = json.loads((self._locks / f"{name}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return found

    @property
    def _locks(self) -> Path:
        return self.folder / "locks"

    def _prepared(self, layer: Layer, progress: Callable[[str], None]) -> Path:
        tree = self.folder / layer.digest
        if tree.is_dir():
            return tree
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._alone(layer):
            if not tree.is_dir():  # another process had it made while this one waited
                progress(f"preparing {layer.name} {layer.version}")
                self._make(layer, tree, progress)
        return tree

    @contextmanager
    def _alone(self, layer: Layer) -> Iterator[None]:
        """One process of the machine at a time; the kernel lets go for one that dies."""
        with open(self.folder / f"{layer.digest}.lock", "w", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def _make(self, layer: Layer, tree: Path, progress: Callable[[str], None]) -> None:
        draft = tree.with_name(f"{tree.name}.partial")
        shutil.rmtree(draft, ignore_errors=True)  # of one that died; what it had fetched is in the client's own cache
        draft.mkdir()
        try:
            self._install(layer, draft, progress)
            _verify(layer, draft)
        except OSError as error:
            raise LayerFailed(f"{layer.name} could not be written: {error}") from error
        (draft / _READY).write_text(json.dumps({"name": layer.name, "version": layer.version, "digest": layer.digest}))
        _open_to_all(draft)
        draft.rename(tree)

    def _install(self, layer: Layer, draft: Path, progress: Callable[[str], None]) -> None:
        if layer.kind is LayerKind.NODE:
            install_node(layer, draft, self.registries)
        elif layer.kind is LayerKind.PYTHON:
            install_python(layer, draft)
        elif layer.kind is LayerKind.NPM:
            install_npm(layer, draft, self._prepared(node_layer(), progress), self.registries)
        else:
            python = find_interpreter([str(layer.lock["python"])], layer.name)
            install_pypi(layer, draft, python.path, self.registries)


def _verify(layer: Layer, draft: Path) -> None:
    missing = [name for name in layer.needs if not (draft / name).is_file()]
    if missing:
        raise LayerFailed(f"{layer.name} {layer.version} came without {', '.join(missing)}")


def _open_to_all(draft: Path) -> None:
    """Whatever the umask: every sandbox's own user reads it, and nobody but its maker may write."""
    for folder, _, names in os.walk(draft):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
