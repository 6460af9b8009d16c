"""The object store port over obstore: one API for a local folder, S3 and GCS.

Keys begin with the tenant. A stored object's sha256 and size stand on the row that refers to it.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.kernel.errors import OwnFault, UsageError
from proctor.objects.ranges import RangedFile

if TYPE_CHECKING:
    from obstore.store import ObjectStore as _Backend

__all__ = [
    "FRESH",
    "ListedObject",
    "ObjectDamaged",
    "ObjectMissing",
    "ObjectStore",
    "ObjectStoreFull",
    "StoreUnusable",
    "StoredObject",
]

_CHUNK: int = 1024 * 1024
_REMEMBERED: int = 4096
"""Digests known to be stored already, so that equal states cost no look-up."""
FRESH = timedelta(days=1)
"""An object stored under its digest longer ago is stored again where it is needed again: what nobody names is swept by
its age, and a row that is about to name one must not find it gone."""


class StoreUnusable(UsageError):
    """The object store can't be used."""

    code = "objects-unusable"
    remedy = "Correct PROCTOR_OBJECTS_URL and the cloud's own settings, or unset it for a folder in the data folder."


class ObjectMissing(OwnFault):
    """An object that a row refers to is not in the object store."""

    code = "object-missing"
    remedy = "Restore the object store from its backup."


class ObjectStoreFull(OwnFault):
    """No space is left where objects are stored."""

    code = "object-store-full"
    remedy = "Free some space there and run the command again; nothing that was committed is lost."


class ObjectDamaged(OwnFault):
    """An object is not what was stored under its key."""

    code = "object-damaged"
    remedy = "Restore the object store from its backup."


@dataclass(frozen=True, kw_only=True)
class ListedObject:
    """An object as a listing has it."""

    key: str
    size: int
    modified: datetime


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """Where an object is and what it must hash to."""

    key: str
    sha256: str
    size: int


class ObjectStore:
    """Objects by key under one root, given as a folder or as an ``s3://`` or ``gs://`` URL."""

    def __init__(self, root: str | Path) -> None:
        self._store = _open(root)
        self._local = not (isinstance(root, str) and "://" in root)
        self._folder = Path(root).absolute() if self._local else None
        self.root = str(root)
        """As it was given: what another process opens the same store by."""
        self._known: OrderedDict[str, datetime] = OrderedDict()

    def put(self, key: str, data: bytes) -> StoredObject:
        """Store bytes; the same key written twice with the same bytes is harmless. Raises ``ObjectStoreFull``."""
        with _room_for(key):
            self._store.put(key, data, use_multipart=None if len(data) > _CHUNK else False)
        return StoredObject(key=key, sha256=hashlib.sha256(data).hexdigest(), size=len(data))

    async def put_soon(self, key: str, data: bytes) -> StoredObject:
        """As ``put``, without holding the event loop up: a small local file is written faster than handed over."""
        if self._local and len(data) <= _CHUNK:
            return self.put(key, data)
        return await asyncio.to_thread(self.put, key, data)

    async def keep_file(self, prefix: str, path: Path, *, sha256: str, size: int) -> StoredObject:
        """Store a file under its digest, once: states that are the same are one object."""
        key = f"{prefix}/{sha256}{path.suffix}"
        looked = self._known.get(key)
        if looked is None or not _is_fresh(looked):
            if not self._local or size > _CHUNK:
                await asyncio.to_thread(self._keep, key, path)
            else:
                self._keep(key, path)
            self._known[key] = datetime.now(UTC)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return StoredObject(key=key, sha256=sha256, size=size)

    def _keep(self, key: str, path: Path) -> None:
        if not self.is_fresh(key):
            with _room_for(key):
                self._store.put(key, path)

    def put_file(self, key: str, path: Path) -> StoredObject:
        """Store a file's bytes, streamed. Raises ``ObjectStoreFull``."""
        hasher = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_CHUNK):
                hasher.update(piece)
        with _room_for(key):
            self._store.put(key, path)
        return StoredObject(key=key, sha256=hasher.hexdigest(), size=path.stat().st_size)

    def get(self, key: str) -> bytes:
        """An object's bytes. Raises ``ObjectMissing``."""
        try:
            return bytes(self._store.get(key).bytes())
        except FileNotFoundError as error:
            raise ObjectMissing(where=key) from error

    def stream(self, key: str) -> Iterator[bytes]:
        """An object's bytes, piece by piece. Raises ``ObjectMissing`` before the first."""
        try:
            found = self._store.get(key).stream(min_chunk_size=_CHUNK)
        except FileNotFoundError as error:
            raise ObjectMissing(where=key) from error
        return (bytes(piece) for piece in found)

    def get_file(self, key: str, path: Path) -> None:
        """Write an object's bytes to a new file, streamed. Raises ``ObjectMissing``."""
        try:
            stream = self._store.get(key).stream(min_chunk_size=_CHUNK)
        except FileNotFoundError as error:
            raise ObjectMissing(where=key) from error
        with path.open("wb") as file:
            for piece in stream:
                file.write(piece)

    def fetch(self, stored: StoredObject, path: Path) -> None:
        """Write an object's bytes to a new file and check them. Raises ``ObjectMissing``, ``ObjectDamaged``."""
        self.get_file(stored.key, path)
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != stored.sha256:
            path.unlink()
            raise ObjectDamaged(where=stored.key)

    def path_of(self, key: str) -> Path | None:
        """Where a local store keeps that object, whether or not it is there; ``None`` of any other store."""
        return None if self._folder is None else self._folder / key

    def open(self, stored: StoredObject) -> RangedFile:
        """An object as a file that fetches what is read of it and no more. Reading raises ``ObjectMissing``."""
        return RangedFile(partial(self.read_range, stored), stored.size)

    def is_whole(self, stored: StoredObject) -> bool:
        """Whether an object hashes to what is on record. Raises ``ObjectMissing``."""
        try:
            stream = self._store.get(stored.key).stream(min_chunk_size=_CHUNK)
        except FileNotFoundError as error:
            raise ObjectMissing(where=stored.key) from error
        hasher = hashlib.sha256()
        for piece in stream:
            hasher.update(piece)
        return hasher.hexdigest() == stored.sha256

    def read(self, stored: StoredObject) -> bytes:
        """An object's bytes, checked. Raises ``ObjectMissing``, ``ObjectDamaged``."""
        data = self.get(stored.key)
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise ObjectDamaged(where=stored.key)
        return data

    def read_range(self, stored: StoredObject, start: int, end: int) -> bytes:
        """An object's bytes from one position up to another, unchecked. Raises ``ObjectMissing``."""
        try:
            return bytes(self._store.get_range(stored.key, start=start, end=end))
        except FileNotFoundError as error:
            raise ObjectMissing(where=stored.key) from error

    def exists(self, key: str) -> bool:
        """Whether the key holds an object."""
        try:
            self._store.head(key)
        except FileNotFoundError:
            return False
        return True

    def is_fresh(self, key: str) -> bool:
        """Whether the key holds an object that was stored less than ``FRESH`` ago."""
        try:
            return _is_fresh(self._store.head(key)["last_modified"])
        except FileNotFoundError:
            return False

    def list(self, prefix: str) -> Iterator[str]:
        """Keys below a prefix, in order."""
        keys = [str(item["path"]) for page in self._store.list(prefix) for item in page]
        yield from sorted(keys)

    def listed(self, prefix: str) -> Iterator[ListedObject]:
        """Objects below a prefix, in no order, page by page."""
        for page in self._store.list(prefix):
            for item in page:
                yield ListedObject(key=str(item["path"]), size=int(item["size"]), modified=item["last_modified"])

    def folders(self, prefix: str) -> Sequence[str]:
        """What lies directly below a prefix that ends with ``/`` and has more below it, in order, without a ``/``."""
        return sorted(str(found) for found in self._store.list_with_delimiter(prefix)["common_prefixes"])

    def size(self, prefix: str) -> int:
        """Bytes of all objects below a prefix."""
        return sum(int(item["size"]) for page in self._store.list(prefix) for item in page)

    def delete(self, key: str) -> None:
        """Remove an object; absent is fine."""
        try:
            self._store.delete(key)
        except FileNotFoundError:
            return


def _is_fresh(since: datetime) -> bool:
    return datetime.now(UTC) - since < FRESH


@contextmanager
def _room_for(key: str) -> Iterator[None]:
    """A full disk as ours, with the operating system's error as its cause: obstore has one error for everything."""
    try:
        yield
    except Exception as error:
        for number in (errno.ENOSPC, errno.EDQUOT):
            if f"(os error {number})" in str(error):
                raise ObjectStoreFull(where=key) from OSError(number, str(error).partition("\n")[0])
        raise


def _open(root: str | Path) -> _Backend:
    import obstore.exceptions
    import obstore.store

    try:
        if isinstance(root, str) and "://" in root:
            return obstore.store.from_url(root)
        Path(root).mkdir(parents=True, exist_ok=True, mode=0o700)
        return obstore.store.LocalStore(str(root))
    except OSError as error:
        raise StoreUnusable(f"Its folder can't be made: {error.strerror}.", where=str(root)) from error
    except (obstore.exceptions.BaseError, ValueError) as error:
        raise StoreUnusable("The store's address or its settings can't be used.", where=str(root)) from error
