"""The dashboard's files: whatever is no path of the API's is a page of it.

All of them are read when the server starts. So nothing that a request says is ever the name of a file, a dashboard that
is built anew under a running server changes nothing half, and no answer waits for the disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

import proctor
from proctor.api import problems
from proctor.api.encodings import takes
from proctor.kernel.errors import UsageError

__all__ = ["OTHERS", "Dashboard", "built"]

OTHERS: frozenset[str] = frozenset({"api", "ws", "healthz", "readyz", "metrics"})
"""First parts of paths that are never a page: a mistyped path of the API is an error, and not the dashboard."""
INDEX: str = "/index.html"
ASSETS: str = "/assets/"
"""Below it a file's name holds a hash of what is in it."""
_ENCODINGS: Mapping[str, str] = {"br": ".br", "gzip": ".gz"}
"""As they are preferred, with what their files are called."""
_KINDS: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
}
"""Not the machine's own table: that says what some package wrote into it."""
_POLICY: str = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:"),
        *("font-src 'self'", "connect-src 'self'", "worker-src 'self'", "manifest-src 'self'"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
    )
)
"""A page runs this server's own files and asks this server, and nothing else; a worker's policy is its own file's."""


class DashboardMissing(UsageError):
    """This installation has no dashboard."""

    code = "dashboard-missing"
    remedy = "In a checkout `make web` builds it; start the server again then. The API, the CLI and the SDK need none."


@dataclass(frozen=True)
class _Body:
    data: bytes
    tag: str

    @classmethod
    def of(cls, data: bytes) -> _Body:
        return cls(data, f'"{hashlib.blake2b(data, digest_size=16).hexdigest()}"')


@dataclass(frozen=True)
class _File:
    """One file, as it is and encoded."""

    kind: str
    kept: str
    plain: _Body
    encoded: Mapping[str, _Body]

    def answer(self, request: Request) -> Response:
        """What a GET or a HEAD of it is answered."""
        encoding = next((one for one in self.encoded if takes(request, one)), None)
        body = self.plain if encoding is None else self.encoded[encoding]
        headers = {
            "cache-control": self.kept,
            "etag": body.tag,
            "content-security-policy": _POLICY,
            "cross-origin-opener-policy": "same-origin",
        }
        if self.encoded:
            headers["vary"] = "accept-encoding"
        known = request.headers.get("if-none-match", "")
        if body.tag in [one.strip().removeprefix("W/") for one in known.split(",")]:
            return Response(None, 304, headers)
        if encoding is not None:
            headers["content-encoding"] = encoding
        headers |= {"content-type": self.kind, "content-length": str(len(body.data))}
        return Response(b"" if request.method == "HEAD" else body.data, 200, headers)


class Dashboard:
    """What answers where no route of the API does."""

    def __init__(self, folder: Path) -> None:
        """Of a folder that need not be there."""
        self._files = dict(_read(folder))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request. Raises ``HTTPException`` where there is nothing."""
        if scope["type"] != "http":
            raise HTTPException(404)
        request = Request(scope)
        response = self._answer(request)
        scope["route"] = _Route()
        await response(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path: str = request.scope["path"]
        found = self._files.get(path)
        if found is None and _is_page(path, looks=_looks(request)):
            found = self._files.get(INDEX)
            if found is None and request.method in ("GET", "HEAD"):
                return _missing(request)
        if found is None:
            raise HTTPException(404)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        return found.answer(request)


class _Route:
    """How the log and the metrics name it, whatever the path."""

    path = "dashboard"


def built() -> Path:
    """Where the dashboard of this installation lies, if it has one."""
    return Path(proctor.__file__).parent / "dashboard"


def _is_page(path: str, *, looks: bool) -> bool:
    """Anything but the API's own and, unless somebody looks, what is called like a file: ``/datasets/a.json`` is."""
    first, last = path[1:].partition("/")[0], path.rpartition("/")[2]
    is_file = last.startswith(".") or not _KINDS.keys().isdisjoint(Path(last).suffixes)
    return path.startswith("/") and first not in OTHERS and not path.startswith(ASSETS) and (looks or not is_file)


def _looks(request: Request) -> bool:
    """Whether a page is wanted, and not a script, a picture or data."""
    return "text/html" in request.headers.get("accept", "")


def _missing(request: Request) -> Response:
    """To somebody who looks, a page; to a program, a problem."""
    told = DashboardMissing()
    if not _looks(request):
        return problems.answer(request, told)
    remedy = DashboardMissing.remedy.replace("`make web`", "<code>make web</code>")
    page = f"<!doctype html><html lang=en><title>Proctor</title><h1>{told.message}</h1><p>{remedy}</p></html>"
    return HTMLResponse(page, 404)


def _read(folder: Path) -> Iterator[tuple[str, _File]]:
    """Each file by the path it is asked for by, its encodings with it."""
    found = dict(_walk(folder, "/"))
    for path, file in found.items():
        if file.suffix not in _ENCODINGS.values():
            encoded = {
                encoding: _Body.of(found[path + suffix].read_bytes())
                for encoding, suffix in _ENCODINGS.items()
                if path + suffix in found
            }
            kept = "public, max-age=31536000, immutable" if path.startswith(ASSETS) else "no-cache"
            kind = _KINDS.get(file.suffix, "application/octet-stream")
            yield path, _File(kind, kept, _Body.of(file.read_bytes()), encoded)


def _walk(folder: Path, below: str) -> Iterator[tuple[str, Path]]:
    """Files, and no link to one, nor what is hidden."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{below}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                yield below + entry.name, Path(entry.path)
