"""Streams of a tenant's platform: opened, sent to, closed. Their results are asked for as those of any job are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.app import Platform, data_folder
from proctor.jobs.chunks import MOST, Cut
from proctor.jobs.values import Job, NewJob
from proctor.queue.service import Band
from proctor.sdk.evaluation_requests import evaluators_of
from proctor.streaming.appending import Appender
from proctor.streaming.gathering import Gatherer
from proctor.streaming.rows import lines_of, read_entries
from proctor.streaming.service import StreamService
from proctor.streaming.values import Appended, KeptRefusal, Stream
from proctor.telemetry.context import trace_id_of_here

if TYPE_CHECKING:
    from proctor.streaming.asking import StreamRequest

__all__ = ["Streams", "appender_of"]


def appender_of(platform: Platform) -> Appender:
    """Adds to the streams of a tenant."""
    folder = data_folder(platform.settings, "tmp")
    return Appender(platform.database, platform.objects, platform.tenant, folder)


class Streams:
    """What the client answers of streams."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._gatherer = Gatherer(lambda _tenant: appender_of(platform))

    @property
    def _service(self) -> StreamService:
        return StreamService(self._platform.database, self._platform.tenant)

    def open(self, request: StreamRequest, *, creator: UUID | None = None) -> Job:
        """Open a stream: a job that is judged by those evaluators and ends once it is closed.

        Raises ``StreamTaken``, ``JobInvalid``, ``EvaluatorUnknown``, ``EvaluatorForbidden``."""
        judges = evaluators_of(self._platform, request.evaluators)
        return self._service.open(
            NewJob(
                name=request.name,
                dataset=None,
                version=None,
                samples=None,
                target=None,
                budget_nano=None,
                judges=judges,
                cut=Cut(rows=0, repeats=1, size=MOST, pieces=0),
                band=Band[request.band.upper()],
                creator=creator,
                trace_id=trace_id_of_here(),
                kept=request.keep,
            )
        )

    def append(self, stream: str, rows: Iterable[Mapping[str, object]], *, key: str | None = None) -> Appended:
        """Add rows to a stream; they are durable when this returns. What threads add at once is added together.

        A row: ``id`` and ``output``, and ``input``, ``expected``, ``model``, ``metadata``, ``time`` where they are
        known. ``key``: makes it harmless to send the same again; or each row has a ``key`` of its own. Raises
        ``JobUnknown``, ``StreamClosed``, ``RowsInvalid``, ``KeyReused``, ``StreamBusy``."""
        return self.append_lines(stream, lines_of(rows), key=key)

    def append_lines(self, stream: str, lines: bytes, *, key: str | None = None) -> Appended:
        """As ``append``, of JSON objects, a line each."""
        return self._gatherer.append(self._platform.tenant, stream, read_entries(lines, key))

    def stream(self, stream: str) -> Stream:
        """A stream, and how many rows were refused. Raises ``JobUnknown``, ``StreamClosed`` where it is none."""
        return self._service.stream(stream)

    def refusals(self, stream: str, *, before: UUID | None = None, limit: int = 100) -> list[KeptRefusal]:
        """A page of rows that were refused, the newest first. Raises as ``stream`` does."""
        return self._service.refusals(stream, before=before, limit=limit)

    def close(self, stream: str) -> Job:
        """Take no more rows; it ends with the last of those that came. Safe to repeat. Raises as ``stream`` does."""
        return self._service.close(stream)
