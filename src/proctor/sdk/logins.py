"""Which server commands go to, and the key for it: `proctor login` keeps both in a file for its user's eyes alone."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from proctor.kernel.errors import UsageError

__all__ = ["LOCAL", "Login", "LoginMissing", "Logins", "ServerInvalid", "checked_url"]

LOCAL = "local"
"""In the place of a server's address: this machine's own data, whatever is stored."""


class ServerInvalid(UsageError):
    """A server is named by its URL."""

    code = "server-url"
    remedy = "Write http://HOST:PORT or https://HOST, or 'local' for this machine's own data."


class LoginMissing(UsageError):
    """There is no key for this server."""

    code = "login-missing"
    remedy = "Store one with `proctor login URL`, or set PROCTOR_API_KEY."


class LoginsUnreadable(UsageError):
    """The file of stored logins can't be used."""

    code = "logins"
    remedy = "Correct or remove it, and log in again."


@dataclass(frozen=True, kw_only=True)
class Login:
    """A server and the key for it."""

    server: str
    key: str = field(repr=False)


class Logins:
    """The stored ones."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def default(self) -> Login | None:
        """The one that was stored last."""
        document = self._read()
        server = document.get("default")
        return self.of(server) if isinstance(server, str) else None

    def of(self, server: str) -> Login | None:
        """The one for a server."""
        keys = self._read().get("keys")
        key = keys.get(server) if isinstance(keys, Mapping) else None
        return Login(server=server, key=key) if isinstance(key, str) else None

    def store(self, login: Login) -> None:
        """Keep it, and have commands go there from now on."""
        keys = self._read().get("keys")
        kept = dict(keys) if isinstance(keys, Mapping) else {}
        self._write({"default": login.server, "keys": {**kept, login.server: login.key}})

    def forget(self, server: str) -> bool:
        """Whether there was one."""
        document = self._read()
        keys = document.get("keys")
        kept = dict(keys) if isinstance(keys, Mapping) else {}
        found = kept.pop(server, None) is not None
        default = None if document.get("default") == server else document.get("default")
        self._write({"default": default, "keys": kept})
        return found

    def _read(self) -> Mapping[str, object]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise LoginsUnreadable(where=str(self._path)) from error
        return found if isinstance(found, dict) else {}

    def _write(self, document: Mapping[str, object]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=self._path.parent)  # 0600 from its first byte
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=2)
            Path(name).replace(self._path)
        except OSError as error:
            raise LoginsUnreadable(f"{error.strerror}.", where=str(self._path)) from error


def checked_url(text: str) -> str:
    """A server's URL in its plain form. Raises ``ServerInvalid``."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise ServerInvalid(where=text) from error
    name = parts.hostname or ""
    wrong = parts.scheme not in ("http", "https") or not name or parts.username or parts.query
    if wrong or parts.path not in ("", "/"):
        raise ServerInvalid(where=text)
    host = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")
