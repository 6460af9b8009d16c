"""Keys for secrets in a file: a key a line, 32 random bytes in base64; the first wraps, all of them unwrap.

The file is read each time, so that a key that was added or moved to the top is used at once by processes that run.
A key's id is taken from the key itself: no two files can mean different keys by one id.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from proctor.identity.vault.ciphers import KEY_BYTES, decrypt, encrypt, new_key
from proctor.identity.vault.errors import SecretsKeyUnknown, SecretsKeyUnset, SecretsKeyUnusable
from proctor.identity.vault.interfaces import Wrapped

__all__ = ["FileKeyring", "UnsetKeyring", "key_id"]

LARGEST_BYTES: int = 64 * 1024
"""Of a key file: a thousand keys. What is larger is something else."""


def key_id(key: bytes) -> str:
    """What a key is called in rows and messages; it tells nothing of the key."""
    return hashlib.sha256(b"proctor secrets key\0" + key).hexdigest()[:16]


class FileKeyring:
    """The keys of a file. ``made``: whether the first key is made where there is no file yet."""

    def __init__(self, path: Path, *, made: bool = False) -> None:
        self.path, self._made = path, made

    def current(self) -> str:
        """The id of the first key."""
        return next(iter(self._keys(needed=True)))

    def wrap(self, data_key: bytes, bound: bytes) -> Wrapped:
        """Under the first key."""
        name, key = next(iter(self._keys(needed=True).items()))
        return Wrapped(key_id=name, data=encrypt(key, data_key, _bound(name, bound)))

    def unwrap(self, wrapped: Wrapped, bound: bytes) -> bytes:
        """Under whichever it was wrapped with."""
        key = self._keys().get(wrapped.key_id)
        if key is None:
            raise SecretsKeyUnknown(f"It is key {wrapped.key_id}.", where=str(self.path))
        return decrypt(key, wrapped.data, _bound(wrapped.key_id, bound))

    def check(self) -> None:
        """The file is whole; one that is made when first needed need not be there."""
        if self.path.exists() or not self._made:
            self._keys()

    def add(self) -> str:
        """Put a new key before the others, which still unwrap; its id."""
        keys = self._keys() if self.path.exists() or not self._made else {}
        fresh = new_key()
        self._write([fresh, *keys.values()], over=bool(keys))
        return self.current()

    def _keys(self, *, needed: bool = False) -> Mapping[str, bytes]:
        """Every key by its id, in the order of the file. ``needed``: a file that may be made is made."""
        if needed and self._made and not self.path.exists():
            self._write([new_key()], over=False)
        lines = [line.strip() for line in self._text().splitlines()]
        keys = [self._key(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
        if not keys:
            raise SecretsKeyUnusable("There is no key in it.", where=str(self.path))
        return {key_id(key): key for key in keys}

    def _key(self, number: int, line: str) -> bytes:
        """A line's key. What the line holds is never told."""
        try:
            key = base64.b64decode(line, validate=True)
        except (binascii.Error, ValueError) as error:
            raise SecretsKeyUnusable("It is no base64.", where=f"{self.path}: line {number}") from error
        if len(key) != KEY_BYTES:
            told = f"A key is {KEY_BYTES} bytes; this one has {len(key)}."
            raise SecretsKeyUnusable(told, where=f"{self.path}: line {number}")
        return key

    def _text(self) -> str:
        try:
            with self.path.open("rb") as file:
                found = file.read(LARGEST_BYTES + 1)
        except OSError as error:
            raise SecretsKeyUnusable(f"It can't be read: {error.strerror}.", where=str(self.path)) from error
        if len(found) > LARGEST_BYTES:
            raise SecretsKeyUnusable("It is too large for a key file.", where=str(self.path))
        return found.decode("ascii", "replace")

    def _write(self, keys: list[bytes], *, over: bool) -> None:
        """All or nothing, for its owner alone. ``over``: in the place of what is there; else that stays."""
        lines = "".join(base64.b64encode(key).decode() + "\n" for key in keys)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            with suppress(FileExistsError), os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
                os.rename(name, self.path) if over else os.link(name, self.path)
            Path(name).unlink(missing_ok=True)
        except OSError as error:
            raise SecretsKeyUnusable(f"It can't be written: {error.strerror}.", where=str(self.path)) from error


class UnsetKeyring:
    """An installation that was given no key: it keeps no secrets, and says so when one is asked for."""

    def current(self) -> str:
        """Raises ``SecretsKeyUnset``."""
        raise SecretsKeyUnset()

    def wrap(self, data_key: bytes, bound: bytes) -> Wrapped:
        """Raises ``SecretsKeyUnset``."""
        raise SecretsKeyUnset()

    def unwrap(self, wrapped: Wrapped, bound: bytes) -> bytes:
        """Raises ``SecretsKeyUnset``."""
        raise SecretsKeyUnset()

    def check(self) -> None:
        """Nothing is wrong with having none."""


def _bound(name: str, bound: bytes) -> bytes:
    return b"proctor data key\0" + name.encode() + b"\0" + bound
