"""``proctor login``, ``logout``, ``whoami``, ``user``, ``key``, ``tenant`` and ``audit-log``: who may use a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import OF_A_SERVER, AsJson, Refusal, chosen_server, print_json, remote, show, told

if TYPE_CHECKING:
    from proctor.identity.api_keys import IssuedKey
    from proctor.identity.permissions import Permission, Role
    from proctor.sdk.remote.identity import IdentityClient

__all__ = ["register"]

users = typer.Typer(no_args_is_help=True, help="Users and service accounts of a server's tenant.")
keys = typer.Typer(no_args_is_help=True, help="API keys of a server: shown once, narrowed, rotated, revoked.")
tenants = typer.Typer(no_args_is_help=True, help="Tenants of a server, for its administrators.")

UserReference = Annotated[str, typer.Argument(metavar="USER", help="A name, or the beginning of an id.")]
KeyReference = Annotated[str, typer.Argument(metavar="KEY", help="A name, a prefix, or the beginning of an id.")]
RoleName = Annotated[str, typer.Option("--role", help="viewer, reviewer, member, admin or owner.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(login)
    app.command()(logout)
    app.command()(whoami)
    app.command("audit-log")(audit_log)
    app.add_typer(users, name="user")
    app.add_typer(keys, name="key")
    app.add_typer(tenants, name="tenant")


@contextmanager
def identity(*, as_json: bool, refusal: Refusal = OF_A_SERVER) -> Iterator[IdentityClient]:
    """The identity routes of the server that the command goes to; ``refusal``: what is said where there is none."""
    with remote(as_json=as_json, refusal=refusal) as server:
        from proctor.sdk.remote.identity import IdentityClient

        yield IdentityClient(server.transport)


def login(
    where: Annotated[str, typer.Argument(metavar="URL|LINK", help="A server, or the one-time link it printed.")],
    tenant: Annotated[str | None, typer.Option(help="With a link: the first tenant's name.")] = None,
    owner: Annotated[str | None, typer.Option(help="With a link: the first administrator's e-mail address.")] = None,
    as_json: AsJson = False,
) -> None:
    """Store a server and a key for it; commands go there from now on. The key is read from standard input."""
    with told(as_json=as_json):
        from proctor.sdk.logins import Login, Logins, checked_url
        from proctor.sdk.remote.identity import IdentityClient
        from proctor.sdk.remote.transport import Transport
        from proctor.settings import stored_logins

        url, _, token = where.partition("/setup#")
        server = checked_url(url)
        if token:
            made = IdentityClient(Transport(server, "")).set_up(
                token, tenant=tenant or _asked("Tenant"), owner=owner or _asked("Your e-mail address")
            )
            key = _secret(made.issued)
        else:
            key = _asked("API key", hidden=True)
        who = IdentityClient(Transport(server, key)).me()
        Logins(stored_logins()).store(Login(server=server, key=key))
        if as_json:
            print_json({"server": server, "me": who})
            return
        show(f"{who.name} ({who.role.value} of {who.tenant_name}) on {server}; commands go there from now on.")


def _asked(what: str, *, hidden: bool = False) -> str:
    """From a person, or the next line of standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=hidden, err=True))
    text = sys.stdin.readline().strip()
    if not text:
        raise typer.BadParameter(f"{what} is missing on standard input")
    return text


def logout(as_json: AsJson = False) -> None:
    """Forget the stored key of a server; commands work with this machine's own data again."""
    with told(as_json=as_json):
        from proctor.sdk.logins import Logins, checked_url
        from proctor.settings import stored_logins

        stored, named = Logins(stored_logins()), chosen_server()
        default = stored.default()
        server = checked_url(named) if named else (default.server if default else None)
        forgotten = server is not None and stored.forget(server)
        if as_json:
            print_json({"server": server, "forgotten": forgotten})
        else:
            show(f"Forgot {server}." if forgotten else "No login was stored.")


def whoami(as_json: AsJson = False) -> None:
    """Show whose key commands use, and what it may do."""
    with identity(as_json=as_json) as asked:
        who = asked.me()
        if as_json:
            print_json(who)
            return
        show(f"{who.name} · {who.role.value} of {who.tenant_name}{' · administrator' if who.administrator else ''}")
        show("may: " + " ".join(permission.value for permission in who.permissions))


def audit_log(as_json: AsJson = False) -> None:
    """Show who did what that matters to security, oldest first."""
    with identity(as_json=as_json) as asked:
        if as_json:
            print_json({"entries": list(asked.audit_log())})
            return
        for entry in asked.audit_log():
            actor = str(entry.actor)[:8] if entry.actor else "nobody"
            detail = " ".join(f"{name}={value}" for name, value in entry.detail.items())
            show(f"{entry.at:%Y-%m-%d %H:%M:%S} {actor} {entry.action} {entry.target} {detail}".rstrip())


# --- users ------------------------------------------------------------------------------------------------------------


@users.command("list")
def list_users(as_json: AsJson = False) -> None:
    """List them with their roles."""
    with identity(as_json=as_json) as asked:
        found = asked.users()
        if as_json:
            print_json({"users": found})
            return
        for one in found:
            state = " · disabled" if one.disabled_at else ""
            show(f"{str(one.id)[:8]} {one.name} · {one.kind} · {one.role.value}{state}")


@users.command("create")
def create_user(
    name: Annotated[str, typer.Argument(help="An e-mail address; of a service account, a name.")],
    role: RoleName = "member",
    service: Annotated[bool, typer.Option("--service", help="A service account.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a user or a service account, of no higher role than your own."""
    with identity(as_json=as_json) as asked:
        made = asked.create_user(name, _role(role), service=service)
        next_step = f"next: proctor key create NAME --user {made.name}"
        print_json(made) if as_json else show(f"{made.name} is {made.role.value}; {next_step}")


@users.command("change")
def change_user(
    user: UserReference,
    role: Annotated[str | None, typer.Option("--role", help="viewer, reviewer, member, admin or owner.")] = None,
    disabled: Annotated[bool | None, typer.Option("--disable/--enable", help="Whether there is no way in.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give a user another role, or no way in any more."""
    with identity(as_json=as_json) as asked:
        if role is None and disabled is None:
            raise typer.BadParameter("say what is to change: --role, --disable or --enable")
        found = asked.user(user)
        made = asked.change_user(found.id, role=None if role is None else _role(role), disabled=disabled)
        state = "disabled" if made.disabled_at else made.role.value
        print_json(made) if as_json else show(f"{made.name} is {state}")


def _role(name: str) -> Role:
    from proctor.identity.permissions import Role

    if name not in set(Role):
        raise typer.BadParameter(f"there are {', '.join(Role)}", param_hint="--role")
    return Role(name)


# --- keys -------------------------------------------------------------------------------------------------------------


@keys.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """List keys without their secrets: everybody's if you keep users, else your own."""
    with identity(as_json=as_json) as asked:
        found = asked.keys()
        if as_json:
            print_json({"keys": found})
            return
        for one in found:
            used = f"used {one.last_used_at:%Y-%m-%d %H:%M}" if one.last_used_at else "never used"
            ends = f" · until {one.expires_at:%Y-%m-%d %H:%M}" if one.expires_at else ""
            state = " · revoked" if one.revoked_at else ends
            scopes = f" · {' '.join(one.scopes)}" if one.scopes is not None else ""
            show(f"{one.prefix} {one.name} · {used}{state}{scopes}")


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    user: Annotated[str | None, typer.Option(help="Whose; your own without.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="A permission it is narrowed to; may be repeated.")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="How long it lives; for ever without.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is printed this once, alone on standard output."""
    with identity(as_json=as_json) as asked:
        from datetime import UTC, datetime, timedelta

        whose = None if user is None else asked.user(user).id
        expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
        _tell(asked.create_key(name, user=whose, scopes=_scopes(scope), expires_at=expires), as_json=as_json)


@keys.command("rotate")
def rotate_key(
    key: KeyReference,
    overlap_hours: Annotated[float, typer.Option(min=0, max=720, help="How long the old one still works.")] = 24.0,
    as_json: AsJson = False,
) -> None:
    """Make a new key in the place of one, which works for a while longer."""
    with identity(as_json=as_json) as asked:
        _tell(asked.rotate_key(asked.key(key).id, overlap_sec=overlap_hours * 3600), as_json=as_json)


@keys.command("revoke")
def revoke_key(key: KeyReference, as_json: AsJson = False) -> None:
    """End a key at once."""
    with identity(as_json=as_json) as asked:
        ended = asked.revoke_key(asked.key(key).id)
        print_json(ended) if as_json else show(f"{ended.name} ({ended.prefix}) is revoked")


def _scopes(names: list[str] | None) -> list[Permission] | None:
    from proctor.identity.permissions import Permission

    unknown = [name for name in names or () if name not in set(Permission)]
    if unknown:
        raise typer.BadParameter(f"there are {', '.join(Permission)}", param_hint="--scope")
    return None if names is None else [Permission(name) for name in names]


def _tell(issued: IssuedKey, *, as_json: bool) -> None:
    print_json(issued) if as_json else typer.echo(_secret(issued))


def _secret(issued: IssuedKey) -> str:
    """A key's text, which is told once. Raises ``KeyUntold`` where the answer that had it was lost on the way."""
    from proctor.identity.errors import KeyUntold

    if issued.secret is None:
        raise KeyUntold(where=issued.key.name)
    return issued.secret


# --- tenants ----------------------------------------------------------------------------------------------------------


@tenants.command("list")
def list_tenants(as_json: AsJson = False) -> None:
    """List the tenants of the installation, as an administrator of it."""
    with identity(as_json=as_json) as asked:
        found = asked.tenants()
        print_json({"tenants": found}) if as_json else show(*(one.name for one in found))


@tenants.command("create")
def create_tenant(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.")],
    owner: Annotated[str, typer.Option(help="Its first owner's e-mail address.")],
    as_json: AsJson = False,
) -> None:
    """Make a tenant. Its owner's first key is printed this once, alone on standard output."""
    with identity(as_json=as_json) as asked:
        made = asked.create_tenant(name, owner)
        print_json(made) if as_json else typer.echo(_secret(made.issued))
