"""Streams of a tenant on a server: what ``proctor.sdk.streams.Streams`` answers, answered by it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from proctor.jobs.values import Job
from proctor.sdk.cursors import Listing
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import API, Transport
from proctor.streaming.rows import lines_of
from proctor.streaming.values import Appended, KeptRefusal, Stream

if TYPE_CHECKING:
    from proctor.streaming.asking import StreamRequest

__all__ = ["RemoteStreams"]


class RemoteStreams:
    """What a server answers of streams."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def open(self, request: StreamRequest) -> Job:
        """Open a stream: a job that is judged by those evaluators and ends once it is closed."""
        return read(Job, self._transport.post("streams", request.model_dump(mode="json")))

    def append(self, stream: str, rows: Iterable[Mapping[str, object]], *, key: str | None = None) -> Appended:
        """Add rows to a stream; they are durable when this returns. ``key``: makes it harmless to send them again."""
        return self.append_lines(stream, lines_of(rows), key=key)

    def append_lines(self, stream: str, lines: bytes, *, key: str | None = None) -> Appended:
        """As ``append``, of JSON objects, a line each."""
        headers = {"Idempotency-Key": key or str(uuid4()), "Content-Type": "application/x-ndjson"}
        path = f"streams/{part(stream)}/rows"
        sent = self._transport.send("POST", path, content=io.BytesIO(lines), headers=headers)
        return read(Appended, sent.json())

    def stream(self, stream: str) -> Stream:
        """A stream, and how many rows were refused."""
        return read(Stream, self._transport.get(f"streams/{part(stream)}"))

    def refusals(self, stream: str, *, before: UUID | None = None, limit: int = 100) -> list[KeptRefusal]:
        """A page of rows that were refused, the newest first."""
        cursor = None if before is None else Listing(f"{API}/streams/{stream}/refusals", ()).cursor([before])
        found = self._transport.get(f"streams/{part(stream)}/refusals", cursor=cursor, limit=limit)
        return read(list[KeptRefusal], found["items"])

    def close(self, stream: str) -> Job:
        """Take no more rows; it ends with the last of those that came."""
        return read(Job, self._transport.post(f"streams/{part(stream)}/close"))
