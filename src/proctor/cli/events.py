"""``proctor events``: what happened on a server, and what happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, chosen_server, err, show, told

if TYPE_CHECKING:
    from proctor.sdk.remote.client import RemoteClient
    from proctor.sdk.remote.events import EventsLost, LiveEvent

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(events)


def events(
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; all without.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")] = False,
    after: Annotated[str | None, typer.Option(help="The id of the event to go on after.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print what happened to a server's run sets, attempts and jobs in the last week; --json: one document a line."""
    with told(as_json=as_json):
        from proctor.sdk.logins import LoginMissing
        from proctor.sdk.opening import chosen_login
        from proctor.sdk.remote.client import RemoteClient
        from proctor.sdk.remote.events import FROM_THE_BEGINNING
        from proctor.settings import Settings

        login = chosen_login(Settings(), chosen_server())
        if login is None:
            raise LoginMissing("Events are a server's, and no server is named.")
        with RemoteClient.open(login.server, login.key) as opened:
            found = opened.events(
                topics=_topics(opened, run_set), after=after or FROM_THE_BEGINNING, wait=None if follow else 0
            )
            for event in found:
                _print(event, as_json=as_json)


def _topics(opened: RemoteClient, run_set: str | None) -> list[str]:
    return [] if run_set is None else [f"run-set:{opened.find(run_set).id}"]


def _print(event: LiveEvent | EventsLost, *, as_json: bool) -> None:
    from proctor.sdk.documents import document
    from proctor.sdk.remote.events import EventsLost

    if as_json:
        typer.echo(json.dumps(document(event)))
    elif isinstance(event, EventsLost):
        err().print(f"{event.after} is kept no more: events after it may be missing", soft_wrap=True)
    else:
        facts = " · ".join(f"{name} {value}" for name, value in event.payload.items() if value is not None)
        show(f"{event.created_at:%Y-%m-%d %H:%M:%S} · {event.name} · {event.subject} · {facts}")
