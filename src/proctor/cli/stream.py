"""``proctor stream``: rows that are judged while they come, from a file, standard input or NATS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from proctor.cli.output import AsJson, asked_for, client, err, print_json, show
from proctor.kernel.ids import short_id

if TYPE_CHECKING:
    from proctor.jobs.values import Job
    from proctor.kernel.errors import ProctorError
    from proctor.sdk.sending import Sent

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Streams: rows that are judged while they come, as a job that stays open.")
_Stream = Annotated[str, typer.Argument(metavar="STREAM", help="Its name (the newest), its id, or the id's beginning.")]


@app.command("open")
def open_stream(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A label; no other stream that is open has it.")],
    evaluator: Annotated[
        list[str], typer.Option("--evaluator", "-e", metavar="NAME[@VERSION]", help="By what; may be repeated.")
    ],
    band: Annotated[str, typer.Option(help="How urgent its rows are: critical, high, normal, low.")] = "high",
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="For good, or as long as the tenant keeps passing results.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Open a stream. `proctor job show` and the like work on it as on any job."""
    with client(as_json=as_json) as opened:
        from proctor.streaming.asking import StreamRequest

        wanted = asked_for(StreamRequest, name=name, evaluators=evaluator, band=band, keep=keep)
        _told(opened.streams.open(wanted), as_json=as_json)


@app.command("append")
def append(
    stream: _Stream,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="JSON lines: id, output, input, expected …; -: standard input.")
    ] = "-",
    source: Annotated[
        str | None,
        typer.Option(help="What standard input is, so that the same lines sent again are known: a name and a day."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add rows as they come, each durable within moments. The same file again adds what was not sent yet."""
    with client(as_json=as_json) as opened, _opened(file, source) as (lines, name):
        from proctor.sdk.sending import Sender, gathered, read_lines

        sender = Sender(opened.streams, stream, on_wait=_waiting)
        tally = _Tally(quiet=as_json)
        for batch in gathered(read_lines(lines, name)):
            tally.add(sender.send(batch))
        tally.end(as_json=as_json)
        if tally.refused and not as_json:
            show(f"Which and why: proctor stream refusals {stream}")


@app.command("feed")
def feed(
    stream: _Stream,
    nats: Annotated[str, typer.Option(metavar="URL", help="Such as nats://HOST:4222, or tls://HOST:4222.")],
    source_stream: Annotated[str, typer.Option("--stream", metavar="NAME", help="The JetStream stream.")],
    consumer: Annotated[str, typer.Option(metavar="NAME", help="Its durable pull consumer; made where there is none.")],
    credentials: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of the account; or PROCTOR_NATS_TOKEN, _USER and _PASSWORD.")
    ] = None,
    tls_ca: Annotated[Path | None, typer.Option(metavar="FILE", help="Who vouches for the server, as PEM.")] = None,
    tls_certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="One's own, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add the messages of a NATS JetStream consumer, a row each, until it is stopped (Ctrl-C, SIGTERM)."""
    with client(as_json=as_json) as opened:
        from proctor.sdk.sending import Sender, fed
        from proctor.settings import Settings
        from proctor.streaming.nats import NatsSource

        source = NatsSource(
            url=nats,
            stream=source_stream,
            consumer=consumer,
            credentials=credentials,
            ca=tls_ca,
            certificate=tls_certificate,
            key=tls_key,
            **Settings().nats_login,
        )
        tally = _Tally(quiet=as_json)
        fed(Sender(opened.streams, stream, on_wait=_waiting), source, tally.add)
        tally.end(as_json=as_json)


@app.command("close")
def close(
    stream: _Stream,
    detach: Annotated[bool, typer.Option("--detach", help="Leave what is not judged yet to a worker.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take no more rows, judge the rest, and show the numbers."""
    with client(as_json=as_json) as opened:
        from proctor.cli.evaluate import finish

        job = opened.streams.close(stream)
        if detach:
            _told(job, as_json=as_json)
        else:
            finish(opened.evaluations, job, as_json=as_json)


@app.command("show")
def show_stream(stream: _Stream, as_json: AsJson = False) -> None:
    """Show whether it is open, and how many rows came and were refused. `proctor job show` has the numbers."""
    with client(as_json=as_json) as opened:
        found = opened.streams.stream(stream)
        if as_json:
            print_json(found)
            return
        from proctor.reports.jobs import stream_line

        show(stream_line(found))


@app.command("refusals")
def refusals(
    stream: _Stream, limit: Annotated[int, typer.Option(min=1, max=1000)] = 100, as_json: AsJson = False
) -> None:
    """Show rows that were refused and why, the newest first; of a stream the first 10,000 are kept."""
    with client(as_json=as_json) as opened:
        found = opened.streams.refusals(stream, limit=limit)
        if as_json:
            print_json({"refusals": found})
            return
        from proctor.reports.jobs import refusals_table

        show(refusals_table(found) if found else "No row was refused.")


# --- where rows come from ---------------------------------------------------------------------------------------------


@contextmanager
def _opened(file: str, source: str | None) -> Iterator[tuple[BinaryIO, str]]:
    """Its lines, and what makes their keys its own."""
    if file == "-":
        from uuid import uuid4

        yield sys.stdin.buffer, source or str(uuid4())
        return
    from proctor.streaming.errors import SourceUnusable

    path = Path(file)
    try:
        lines = path.open("rb")
    except OSError as error:
        raise SourceUnusable(f"It can't be read: {error.strerror}.", where=file) from error
    with lines:
        yield lines, source or str(path.resolve())


def _waiting(error: ProctorError) -> None:
    err().print(f"It is tried again: {error.message}", soft_wrap=True)


class _Tally:
    """What was sent so far, told on standard error every few seconds and at the end."""

    EVERY_SEC: float = 5.0
    """Between lines: a stream may go on for months."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._rows = self.refused = 0
        self._told_at = 0.0

    def add(self, sent: Sent) -> None:
        import time

        self._rows += sent.rows
        self.refused += len(sent.refusals)
        if not self._quiet and time.monotonic() - self._told_at > self.EVERY_SEC:
            self._told_at = time.monotonic()
            err().print(self._words(), soft_wrap=True)

    def end(self, *, as_json: bool) -> None:
        if as_json:
            print_json({"rows": self._rows, "refused": self.refused})
        else:
            show(self._words())

    def _words(self) -> str:
        from proctor.kernel.words import counted

        return f"{counted(self._rows, 'row')} in the stream, {self.refused:,} refused"


def _told(job: Job, *, as_json: bool) -> None:
    if as_json:
        print_json({"job": job})
    else:
        show(f"{job.name} ({short_id(job.id)}): {'open' if job.open else job.state.value}")
