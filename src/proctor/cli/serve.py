"""``proctor serve``, ``up`` and ``setup-link``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, err, print_json, show, told

if TYPE_CHECKING:
    from proctor.serving.roles import Role

__all__ = ["register"]

_ALL = "api,planner,worker,relay,operations,evaluator"
Host = Annotated[str, typer.Option(help="Where the API listens; 0.0.0.0 for other machines, behind TLS.")]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free.")]
SharePort = Annotated[
    bool, typer.Option("--share-port", help="Other API processes that say so too may listen there; one a processor.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(up)
    app.command()(serve)
    app.command("setup-link")(setup_link)


def up(host: Host = "127.0.0.1", port: Port = 8080, share_port: SharePort = False, as_json: AsJson = False) -> None:
    """Run a whole server on this machine until Ctrl-C: API, planner, relay, one worker and long work."""
    serve(roles=_ALL, host=host, port=port, share_port=share_port, as_json=as_json)


def serve(
    roles: Annotated[str, typer.Option(help="Of api, planner, worker, relay, operations, evaluator.")] = _ALL,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    share_port: SharePort = False,
    as_json: AsJson = False,
) -> None:
    """Run roles of a server in this process until Ctrl-C; running attempts finish, a second Ctrl-C ends them."""
    with told(as_json=as_json):
        from proctor.app import open_server
        from proctor.serving.roles import Address
        from proctor.serving.roles import serve as run_roles
        from proctor.settings import Settings
        from proctor.telemetry.process import begin_logs, telling

        settings, chosen = Settings(), _chosen(roles)
        begin_logs(settings, level="info")

        def ready(url: str) -> None:
            link = _link(new_link(), url) if url else None
            if as_json:
                print_json({"url": url or None, "roles": chosen, "setup_link": link})
                return
            err().print(f"{' + '.join(chosen)}{f' on {url}' if url else ''}; Ctrl-C ends it", soft_wrap=True)
            if link is not None:
                err().print(f"First administrator, once, within 24 h:  proctor login {link}", soft_wrap=True)

        with open_server(settings) as server, telling(settings, server.objects):
            from proctor.identity.setup import new_setup_token

            def new_link() -> str | None:
                return new_setup_token(server.database, server.secret)

            run_roles(server, chosen, Address(host=host, port=port, shared=share_port), ready)


def setup_link(
    url: Annotated[str, typer.Option(help="The server's URL, as its users see it.")] = "http://127.0.0.1:8080",
    as_json: AsJson = False,
) -> None:
    """Print a new one-time link for the first administrator; any link before it is void."""
    with told(as_json=as_json):
        from proctor.app import open_server
        from proctor.identity.errors import SetupDone
        from proctor.identity.setup import new_setup_token
        from proctor.sdk.logins import checked_url
        from proctor.settings import Settings

        address = checked_url(url)
        with open_server(Settings()) as server:
            link = _link(new_setup_token(server.database, server.secret), address)
        if link is None:
            raise SetupDone()
        print_json({"setup_link": link}) if as_json else show(f"proctor login {link}")


def _link(token: str | None, url: str) -> str | None:
    return None if token is None else f"{url}/setup#{token}"


def _chosen(roles: str) -> list[Role]:
    from proctor.serving.roles import Role

    names = [name.strip() for name in roles.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Role)]
    if unknown or not names:
        raise typer.BadParameter(f"there are {', '.join(Role)}", param_hint="--roles")
    return [Role(name) for name in dict.fromkeys(names)]
