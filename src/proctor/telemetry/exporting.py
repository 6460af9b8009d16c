"""Sends spans to a collector by OTLP over HTTP, in a thread of its own.

Whoever ends a span puts it into a bounded queue and goes on; what finds no room, or could not be sent within the time
that the exporter tries it, is dropped and counted. OpenTelemetry is imported here and nowhere else.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

import structlog

from proctor.kernel.errors import UsageError
from proctor.telemetry.spans import Span, record_with
from proctor.telemetry.tallies import Tally, count

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["Collector", "TracesExtraMissing", "sampled", "tracing"]

WAITING: int = 4096
"""Spans that may wait: some 4 MB, and ten seconds of a busy server."""
BATCH: int = 512
EVERY_SEC: float = 1.0
"""How long a span waits for others to be sent with."""
TIMEOUT_SEC: float = 10.0
"""How long one batch is tried, again and again."""
CLOSE_SEC: float = 2.0
"""How long a process that ends waits for its last spans to be sent."""
_TOLD_EVERY_SEC: float = 60.0
_SIGNAL_PATH = "/v1/traces"

_log = structlog.get_logger(__name__)


class TracesExtraMissing(UsageError):
    """PROCTOR_OTLP_ENDPOINT is set, and what sends traces is not installed."""

    code = "traces-extra"
    remedy = "Install Proctor with its server extra (pip install -e '.[server]' in its folder), or unset the variable."


@dataclass(frozen=True, kw_only=True)
class Collector:
    """Where spans go. ``ratio``: of all traces, the share that is sent, each whole or not at all."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ratio: float = 1.0

    @property
    def url(self) -> str:
        """The address of traces: the endpoint's own where it names one, else what OTLP puts below it."""
        address = self.endpoint.rstrip("/")
        return address if address.endswith(_SIGNAL_PATH) else f"{address}{_SIGNAL_PATH}"


@contextmanager
def tracing(collector: Collector | None) -> Iterator[None]:
    """Have this process's spans sent meanwhile; ``None``: not. Raises ``TracesExtraMissing``."""
    if collector is None:
        yield
        return
    sender = _Sender(collector)
    record_with(sender.take)
    try:
        yield
    finally:
        record_with(None)
        sender.close()


def sampled(trace_id: str, ratio: float) -> bool:
    """Whether a trace is sent. All processes decide alike, by the part of the id that W3C has random."""
    return int(trace_id[-14:], 16) < ratio * (1 << 56)


class _Sender:
    def __init__(self, collector: Collector) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ModuleNotFoundError as error:
            raise TracesExtraMissing() from error
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)  # told here, once a minute and without URLs
        logging.getLogger("urllib3").setLevel(logging.CRITICAL + 1)
        self._ratio = collector.ratio
        self._exporter = OTLPSpanExporter(collector.url, headers=dict(collector.headers), timeout=TIMEOUT_SEC)
        self._waiting: queue.Queue[Span | None] = queue.Queue(WAITING)
        self._written = _Written()
        self._told = -_TOLD_EVERY_SEC
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="span-sender", daemon=True)
        self._thread.start()

    def take(self, span: Span) -> None:
        """Send it later, if its trace is sent and there is room; never waits."""
        if not sampled(span.trace_id, self._ratio):
            return
        try:
            self._waiting.put_nowait(span)
        except queue.Full:
            count(Tally.SPANS_DROPPED)

    def close(self) -> None:
        """Send what waits, within ``CLOSE_SEC``."""
        self._closing = True
        with suppress(queue.Full):  # it looks at ``_closing`` after each batch
            self._waiting.put_nowait(None)
        self._thread.join(CLOSE_SEC)
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _work(self) -> None:
        while True:
            batch, ending = self._batch()
            if batch:
                self._send(batch)
            if ending:
                return

    def _batch(self) -> tuple[list[Span], bool]:
        """The first that comes and what comes within ``EVERY_SEC`` of it; without any it sleeps."""
        first = self._waiting.get()
        if first is None:
            return [], True
        batch, until = [first], time.monotonic() + EVERY_SEC
        while len(batch) < BATCH:
            try:
                left = 0.0 if self._closing else max(0.0, until - time.monotonic())
                one = self._waiting.get(timeout=left) if left else self._waiting.get_nowait()
            except queue.Empty:
                return batch, self._closing
            if one is None:
                return batch, True
            batch.append(one)
        return batch, False

    def _send(self, batch: Sequence[Span]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        try:
            sent = self._exporter.export([self._written.of(one) for one in batch]) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001  whatever the collector's trouble is, work goes on without these spans
            sent = False
            self._tell(type(error).__name__)
        count(Tally.SPANS_SENT if sent else Tally.SPANS_DROPPED, len(batch))
        if not sent:
            self._tell("not taken")

    def _tell(self, why: str) -> None:
        if time.monotonic() - self._told >= _TOLD_EVERY_SEC:
            self._told = time.monotonic()
            _log.warning("traces.not_sent", why=why)


class _Written:
    """Spans as OpenTelemetry has them."""

    def __init__(self) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        about = {"service.name": "proctor", "service.version": version("proctor")}
        self._resource = Resource({**about, "service.instance.id": secrets.token_hex(8)})
        self._scope = InstrumentationScope("proctor", version("proctor"))

    def of(self, span: Span) -> ReadableSpan:
        """One span."""
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(span_id: str) -> SpanContext:
            flags = TraceFlags(TraceFlags.SAMPLED)
            return SpanContext(int(span.trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)

        return ReadableSpan(
            name=span.name,
            context=context(span.span_id),
            parent=context(span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=span.attributes,
            kind=SpanKind.SERVER if span.serves else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=span.started,
            end_time=span.ended,
            instrumentation_scope=self._scope,
        )
