"""What every command shares: the two consoles, JSON, and one way to show an error and end with its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar, cast

import typer

from proctor.cli.terminal import Calming

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console, RenderableType, RenderHook

    from proctor.sdk.client import Client
    from proctor.sdk.installed import Installed
    from proctor.sdk.remote.client import RemoteClient

__all__ = [
    "OF_A_SERVER",
    "AsJson",
    "ExitCode",
    "Refusal",
    "asked_for",
    "choose_server",
    "chosen_server",
    "client",
    "counting",
    "err",
    "installed",
    "out",
    "print_json",
    "remote",
    "show",
    "told",
]

D = TypeVar("D", bound="BaseModel")

UNBROKEN: int = 100_000
"""Columns of an output that is no terminal: programs and editors break lines themselves."""

_HELP: str = "`proctor COMMAND --help` lists what there is to choose."

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


class ExitCode:
    """Every exit code, as ``docs/reference/exit-codes.md`` lists them."""

    DONE = 0
    GATE_MISSED = 1
    USAGE = 2
    GAPS = 3
    PAUSED = 4
    OWN_FAULT = 5
    INTERRUPTED = 130


def out() -> Console:
    """Standard output: results."""
    return _console(stderr=False)


def err() -> Console:
    """Standard error: progress and errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """No markup, and no terminal's orders either: names of tasks and files are other people's words."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, markup=False)
    if console.is_terminal:
        console.push_render_hook(cast("RenderHook", Calming()))  # its base class would import rich for every command
    return console


def show(*parts: RenderableType) -> None:
    """Print to standard output; nothing is cut or broken into lines where it is no terminal."""
    from rich.text import Text

    console = out()
    if not console.is_terminal:
        console.width = UNBROKEN
    for part in parts:
        is_line = isinstance(part, str) or (isinstance(part, Text) and part.no_wrap is not False)
        console.print(part, soft_wrap=is_line)  # a line to copy stays one line; prose says that it may be broken


def counting(what: str, done: str, *, quiet: bool) -> Callable[[int], None]:
    """Called with how many more there are, it says on standard error how many in all: "2,000 cells classified"."""
    from proctor.kernel.words import counted

    total = 0

    def more(number: int) -> None:
        nonlocal total
        total += number
        if not quiet:
            err().print(f"{counted(total, what)} {done}")

    return more


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    from proctor.sdk.documents import document

    typer.echo(json.dumps(document(value), indent=2))


def asked_for(kind: type[D], **words: object) -> D:
    """A document of what was typed. Raises ``BadParameter`` naming the word that can't be."""
    from pydantic import ValidationError

    from proctor.kernel.validation import words_of

    try:
        return kind.model_validate(words)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_context=False, include_input=False)
        where = ".".join(map(str, first["loc"]))
        raise typer.BadParameter(f"{where}: {words_of(first)}") from None


@contextmanager
def told(*, as_json: bool) -> Iterator[None]:
    """Show a ``ProctorError`` as its code, place, message and remedy, and end with its exit code."""
    from proctor.kernel.errors import ProctorError

    try:
        yield
    except ProctorError as error:
        if as_json:
            typer.echo(json.dumps({"error": error.as_dict()}, indent=2))
        else:
            _show_error(error.code, error.where, error.message, error.remedy)
        raise typer.Exit(error.exit_code) from error
    except typer.BadParameter as error:
        if not as_json:
            raise
        told = {"code": "usage", "message": error.message, "where": error.param_hint, "remedy": _HELP}
        typer.echo(json.dumps({"error": told}, indent=2))
        raise typer.Exit(ExitCode.USAGE) from error
    except KeyboardInterrupt:
        err().print("Interrupted. To go on, give the same command again.")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        raise typer.Exit(ExitCode.DONE) from None  # the reader closed early, as head does


def _show_error(code: str, where: str | None, message: str, fix: str) -> None:
    from rich.text import Text

    place = f"{where}: " if where else ""
    console = err()
    console.print(Text("error", style="bold red") + Text(f" [{code}] {place}{message}"), soft_wrap=True)
    if fix:
        console.print(Text(f"  {fix}", style="dim"), soft_wrap=True)


@contextmanager
def client(*, as_json: bool) -> Iterator[Client]:
    """A client for one command of wherever it goes, its errors told."""
    with told(as_json=as_json):
        from proctor.sdk.opening import open_client

        with open_client(chosen_server()) as opened:
            yield opened


@contextmanager
def installed(*, as_json: bool) -> Iterator[Installed | RemoteClient]:
    """What is installed wherever the command goes, its errors told; on this machine no database is started for it."""
    with told(as_json=as_json):
        from proctor.sdk.opening import open_installed

        with open_installed(chosen_server()) as opened:
            yield opened


class Refusal(NamedTuple):
    """What is said of a command that would go to this machine's own data, where a server is needed."""

    message: str
    remedy: str | None = None


OF_A_SERVER = Refusal("This is a server's business, and no server is named.")


@contextmanager
def remote(*, as_json: bool, refusal: Refusal = OF_A_SERVER) -> Iterator[RemoteClient]:
    """A client of the server that the command goes to, for what only a server has."""
    with told(as_json=as_json):
        from proctor.sdk.logins import LoginMissing
        from proctor.sdk.opening import chosen_login
        from proctor.sdk.remote.client import RemoteClient
        from proctor.settings import Settings

        login = chosen_login(Settings(), chosen_server())
        if login is None:
            raise LoginMissing(refusal.message, remedy=refusal.remedy)
        with RemoteClient.open(login.server, login.key) as opened:
            yield opened


_CHOSEN: list[str] = []
"""The server that this command line names, if it does."""


def choose_server(server: str) -> None:
    """Have this process's command go there."""
    _CHOSEN[:] = [server]


def chosen_server() -> str | None:
    """What the command line says."""
    return _CHOSEN[0] if _CHOSEN else None
