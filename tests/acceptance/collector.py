"""A collector of traces: a real HTTP server that decodes what OTLP sends it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class SentSpan:
    """A span as it was sent. ``process``: the instance that sent it."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    process: str
    seconds: float
    attributes: dict[str, str]


@dataclass
class Collector:
    """What came."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    spans: list[SentSpan] = field(default_factory=list)

    def named(self, name: str) -> list[SentSpan]:
        return [one for one in self.spans if one.name == name]

    def take(self, headers: dict[str, str], body: bytes) -> None:
        data = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        request = ExportTraceServiceRequest.FromString(data)
        self.headers.append(headers)
        self.raw.append(data)
        for resource in request.resource_spans:
            about = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert about["service.name"] == "proctor"
            for group in resource.scope_spans:
                self.spans += [_read(span, about["service.instance.id"]) for span in group.spans]


def _read(span, process: str) -> SentSpan:  # type: ignore[no-untyped-def]
    return SentSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        process=process,
        seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        attributes={
            one.key: one.value.string_value or str(one.value.int_value or one.value.bool_value)
            for one in span.attributes
        },
    )


@contextmanager
def collecting() -> Iterator[Collector]:
    """One that listens on this machine."""
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.take({name.lower(): value for name, value in self.headers.items()}, body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()
