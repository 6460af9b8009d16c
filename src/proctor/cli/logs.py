"""``proctor logs``: what Proctor did, by run set, attempt, user or model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, show
from proctor.cli.times import moment

if TYPE_CHECKING:
    from proctor.sdk.client import Client
    from proctor.sdk.logs import LogsWanted
    from proctor.telemetry.searching import LogLine

__all__ = ["register"]

LOOK_SEC: float = 1.0
"""Between looks for new lines; they are kept two seconds after they were written."""
LATE = timedelta(seconds=20)
"""How long after its time a line may still come: kept by a slow store, or told by a clock that is behind."""
PAGE: int = 500


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(logs)


def logs(
    run_set: Annotated[str | None, typer.Option(help="Name or id.")] = None,
    attempt: Annotated[str | None, typer.Option(help="The beginning of an attempt's or a cell's id.")] = None,
    user: Annotated[
        str | None, typer.Option(help="Id or e-mail: their requests and the run sets they started.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model or a profile by name.")] = None,
    level: Annotated[str | None, typer.Option(help="This and above: debug, info, warning, error.")] = None,
    trace: Annotated[str | None, typer.Option(help="The id of a trace.")] = None,
    text: Annotated[str | None, typer.Option(help="Words anywhere in the line.")] = None,
    since: Annotated[
        str | None, typer.Option(help="90s, 15m, 2h or 3d ago, or a time such as 2026-07-01T12:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="The same; now without.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The last so many lines.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search the structured log, the newest lines last; --json: one document a line."""
    with client(as_json=as_json) as opened:
        from proctor.sdk.logs import LogsWanted

        wanted = LogsWanted(
            run_set=run_set,
            attempt=attempt,
            user=user,
            model=model,
            level=level,
            trace=trace,
            text=text,
            since=moment(since, "--since"),
            until=moment(until, "--until"),
        )
        last = _last(opened, wanted, limit)
        for line in last:
            _print(line, as_json=as_json)
        if follow:
            for line in _coming(opened, wanted, last):
                _print(line, as_json=as_json)


def _last(opened: Client, wanted: LogsWanted, limit: int) -> list[LogLine]:
    """The newest lines, in the order in which they were written."""
    found: list[LogLine] = []
    cursor: str | None = None
    while len(found) < limit:
        page = opened.logs(wanted, cursor=cursor, limit=min(PAGE, limit - len(found)))
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    return found[::-1]


def _coming(opened: Client, wanted: LogsWanted, last: list[LogLine]) -> Iterator[LogLine]:
    """What is kept from now on, in its order as far as that is known, each line once."""
    from dataclasses import replace

    seen = {line.id: line.at for line in last}
    began = datetime.now(UTC)
    while True:
        time.sleep(LOOK_SEC)
        since = max(began - LATE, datetime.now(UTC) - 3 * LATE)
        for line in _last(opened, replace(wanted, since=since, until=None), limit=100_000):
            if line.id not in seen and line.at > began - LATE:
                seen[line.id] = line.at
                yield line
        seen = {identity: at for identity, at in seen.items() if at >= since - LATE}


def _print(line: LogLine, *, as_json: bool) -> None:
    if as_json:
        from proctor.sdk.documents import document

        typer.echo(json.dumps(document(line)))
        return
    fields = {**line.fields, "trace": line.trace_id}
    facts = " · ".join(f"{name} {_plain(value)}" for name, value in fields.items() if value is not None)
    show(f"{line.at:%Y-%m-%d %H:%M:%S.%f}"[:-3] + f" · {line.level} · {line.event} · {facts}")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
