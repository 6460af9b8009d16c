"""``proctor secret``: what run sets on a server need to know and nobody is to see."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from proctor.cli.identity import identity
from proctor.cli.output import AsJson, ExitCode, Refusal, err, print_json, show, told

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Secrets that a server keeps for its tenant's run sets.")

_OF_A_SERVER = Refusal(
    "Secrets are kept by servers, and no server is named.",
    "Runs of this machine's own take them from the environment: export NAME=... and run.",
)
Name = Annotated[str, typer.Argument(help="As the run-set file lists it under [secrets].")]


@app.command("set")
def set_secret(
    name: Name,
    from_env: Annotated[str | None, typer.Option(metavar="VAR", help="Take the value of this variable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set or replace one. The value comes from a hidden prompt or standard input, where one newline at its end goes."""
    with identity(as_json=as_json, refusal=_OF_A_SERVER) as asked:
        made = asked.set_secret(name, _value(name) if from_env is None else _of_environment(from_env))
        print_json(made) if as_json else show(f"{made.name} is set, version {made.version}; the next attempt uses it")


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(name, hide_input=True, err=True))
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise typer.BadParameter("the value on standard input is no UTF-8") from None  # it holds the value


def _of_environment(variable: str) -> str:
    from proctor.settings import secret_values

    found, missing = secret_values([variable])
    if missing:
        raise typer.BadParameter(f"{variable} is not set", param_hint="--from-env")
    return found[variable]


@app.command("list")
def list_secrets(as_json: AsJson = False) -> None:
    """List names, who set them when, and when an attempt last used them."""
    with identity(as_json=as_json, refusal=_OF_A_SERVER) as asked:
        found = asked.secrets()
        if as_json:
            print_json({"secrets": found})
            return
        for one in found:
            used = f"used {one.last_used_at:%Y-%m-%d %H:%M}" if one.last_used_at else "never used"
            show(f"{one.name} · version {one.version}, {one.set_at:%Y-%m-%d %H:%M} by {one.set_by} · {used}")


@app.command("remove")
def remove_secret(name: Name, as_json: AsJson = False) -> None:
    """Forget one. Attempts that need it end without a verdict until it is set again."""
    with identity(as_json=as_json, refusal=_OF_A_SERVER) as asked:
        gone = asked.remove_secret(name)
        print_json(gone) if as_json else show(f"{gone.name} is removed")


@app.command("rotate")
def rotate(
    new_key: Annotated[bool, typer.Option("--new-key", help="First put a new key at the top of the key file.")] = False,
    as_json: AsJson = False,
) -> None:
    """On a machine of the server: wrap every tenant's secrets by the current key. Safe to repeat, and to cut off."""
    with told(as_json=as_json):
        from proctor.sdk.secrets import rotate_secrets
        from proctor.settings import Settings

        done = rotate_secrets(Settings(), new_key=new_key)
        if as_json:
            print_json(done)
        else:
            show(f"{done.rewrapped} wrapped by key {done.key_id}, {done.already} were already")
        for one in done.stuck:
            err().print(f"{one.tenant}: {one.name}: [{one.reason}] it stays under key {one.key_id}", soft_wrap=True)
        if done.stuck:
            raise typer.Exit(ExitCode.OWN_FAULT)
