"""Adding rows to a stream: durable, with the work on them queued, when this returns; and once, however often sent.

Rows lie in the object store before one transaction says that the stream has them, together with the keys that they were
sent under. The keys are looked up first, so that nothing is written anew that is there; what another process added in
between is noticed under the stream's lock, and the whole is done again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.datasets.examples import DIGEST_BYTES
from proctor.jobs import growing
from proctor.jobs.errors import StreamClosed
from proctor.jobs.service import find
from proctor.jobs.values import Job
from proctor.kernel.errors import ProctorError
from proctor.kernel.ids import new_id
from proctor.objects.parquet import Part
from proctor.objects.store import ObjectStore
from proctor.streaming.pieces import placed, stored_pieces
from proctor.streaming.values import Entry, Fate, Refusal

__all__ = ["KEPT_REFUSALS", "Appender"]

KEPT_REFUSALS: int = 10_000
"""Refused rows of a stream that are kept to be listed, the first ones: the rest are counted. A sender who sends nothing
else would fill the database."""
WAKE_SEC: float = 1.0
"""Between words to workers that rest: one that had work just now looks for more by itself."""

_run = partial(run_query, "proctor.streaming")


class _Overtaken(Exception):
    """Somebody else added some of it meanwhile."""


@dataclass(frozen=True, kw_only=True)
class _Sorted:
    """Entries as they are to be added. ``fates``: of those that were sent; ``fresh``: what the stream has not."""

    stream: Job
    fates: tuple[Fate, ...]
    fresh: tuple[Entry, ...]


class Appender:
    """Adds to streams of one tenant."""

    def __init__(self, database: Database, objects: ObjectStore, tenant: UUID, folder: Path) -> None:
        """``folder``: for what is being written."""
        self._database, self._objects, self._tenant, self._folder = database, objects, tenant, folder
        self._woke_at = 0.0

    def append(self, reference: str, entries: Sequence[Entry]) -> list[Fate]:
        """Add entries, in their order; what became of each.

        Raises ``JobUnknown``, ``StreamClosed`` where some were not there already, ``ObjectStoreFull``.
        """
        while True:
            found = self._database.as_tenant(self._tenant, partial(self._sort, reference=reference, entries=entries))
            if not found.fresh:
                return list(found.fates)
            if not found.stream.open:
                raise StreamClosed("It is closed.", where=found.stream.name)
            try:
                self._add(found)
            except _Overtaken:
                continue
            return list(found.fates)

    # --- what is there already ----------------------------------------------------------------------------------------

    def _sort(self, connection: Connection, reference: str, entries: Sequence[Entry]) -> _Sorted:
        stream = find(connection, self._tenant, reference)
        if not stream.stream:
            raise StreamClosed("It is a job over a dataset.", where=stream.name)
        known = dict(self._known(connection, stream.id, [one.key for one in entries]))
        fates, fresh = list[Fate](), list[Entry]()
        for one in entries:
            if one.key not in known:
                known[one.key] = one.digest
                fresh.append(one)
                fates.append(Fate.ADDED)
            else:
                fates.append(Fate.KNOWN if known[one.key] == one.digest else Fate.CLASHED)
        clashes = {
            told.key: told
            for one, fate in zip(entries, fates, strict=True)
            if fate is Fate.CLASHED and one.is_row
            for told in [_clash(one)]
        }
        told_before = self._known(connection, stream.id, list(clashes))
        fresh += [one for key, one in clashes.items() if key not in told_before]
        return _Sorted(stream=stream, fates=tuple(fates), fresh=tuple(fresh))

    def _known(self, connection: Connection, job: UUID, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if not keys:
            return {}
        rows = _run(connection, "keys_of", tenant=self._tenant, job=job, keys=list(keys))
        return {bytes(row.key): bytes(row.digest) for row in rows}

    # --- what is new --------------------------------------------------------------------------------------------------

    def _add(self, found: _Sorted) -> None:
        """Raises ``_Overtaken``, ``StreamClosed``, ``ObjectStoreFull``."""
        rows = [row for one in found.fresh for row in one.rows]
        parts = stored_pieces(self._objects, self._tenant, found.stream.id, rows, self._folder) if rows else []
        wake = time.monotonic() - self._woke_at > WAKE_SEC
        try:
            self._database.as_tenant(self._tenant, partial(self._record, found=found, parts=parts, wake=wake))
        except (_Overtaken, StreamClosed):
            self._drop_unnamed(found.stream.id, parts)
            raise
        if wake:
            self._woke_at = time.monotonic()

    def _record(
        self, connection: Connection, found: _Sorted, parts: Sequence[tuple[Part, Part]], *, wake: bool
    ) -> None:
        stream = growing.lock_stream(connection, self._tenant, found.stream)
        keys = [one.key for one in found.fresh]
        if self._known(connection, stream.id, keys):
            raise _Overtaken
        if not stream.open:
            raise StreamClosed("It was closed just now.", where=stream.name)
        digests = [one.digest for one in found.fresh]
        _run(connection, "insert_keys", tenant=self._tenant, job=stream.id, keys=keys, digests=digests)
        self._refuse(connection, stream.id, found.fresh)
        if parts:
            pieces = placed(parts, chunk=stream.cut.chunks, start=stream.cut.rows)
            growing.grow(connection, self._tenant, stream, pieces, wake=wake)

    def _refuse(self, connection: Connection, job: UUID, entries: Sequence[Entry]) -> None:
        """Count refused rows, and keep the first of them."""
        told = [pair for one in entries for pair in zip(one.refusals, one.said, strict=True)]
        if not told:
            return
        before = int(_run(connection, "refused", tenant=self._tenant, job=job).scalar_one())
        kept = [
            {"id": str(new_id()), "row": one.line or one.row, "field": one.field, "reason": one.reason, "said": said}
            for one, said in told[: max(0, KEPT_REFUSALS - before)]
        ]
        _run(connection, "insert_refusals", tenant=self._tenant, job=job, rows=json.dumps(kept))
        _run(connection, "add_refused", tenant=self._tenant, job=job, refused=len(told))

    def _drop_unnamed(self, job: UUID, parts: Sequence[tuple[Part, Part]]) -> None:
        """Remove what was written in vain. A commit whose answer was lost may have named it; what is left is swept."""
        keys = [part.key for pair in parts for part in pair]
        try:
            named = self._database.as_tenant(self._tenant, lambda c: growing.named_pieces(c, self._tenant, [job], keys))
            for key in keys:
                if key not in named:
                    self._objects.delete(key)
        except ProctorError:
            return


def _clash(one: Entry) -> Entry:
    """An entry that says that a row came under another's key: it is told once, however often it is sent."""
    refusal = Refusal(row=one.first, line=one.line, field="key", reason="it came with another row before")
    key = hashlib.sha256(b"clash\0" + one.key + one.digest).digest()[:DIGEST_BYTES]
    said = one.said or (one.rows[0].id[:100],)
    return replace(one, key=key, rows=(), refusals=(refusal,), said=said[:1])
