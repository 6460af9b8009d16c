"""The ``proctor`` command: one file per command group; nothing heavy is imported before it is used."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from proctor import __version__
from proctor.cli import (
    agents,
    attempt,
    audit,
    backup,
    cells,
    compare,
    control,
    database,
    dataset,
    evaluate,
    evaluators,
    events,
    export,
    gate,
    identity,
    job,
    job_analysis,
    leaderboard,
    ledger,
    logs,
    operate,
    operation,
    power,
    profile,
    prompts,
    provider,
    push,
    reclassify,
    regrade,
    run,
    secret,
    serve,
    sql,
    stream,
    suite,
    task,
    usage,
)
from proctor.cli.output import choose_server

__all__ = ["app", "main"]

COLLECT_AFTER: int = 50_000
"""New objects between looks for garbage: imports make many and no garbage, and by default a tenth of a short command's
time went into looking."""

_UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]
"""What the command line's own mistakes are; typer exports only this kind of it."""

app = typer.Typer(
    name="proctor",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    help="Evaluate coding agents: every cell accounted for, every failure with a cause.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"proctor {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The server that the command goes to; 'local': this machine's own data."),
    ] = None,
) -> None:
    """Evaluate coding agents: every cell accounted for, every failure with a cause."""
    if server is not None:
        choose_server(server)


run.register(app)
evaluate.register(app)
sql.register(app)
control.register(app)
leaderboard.register(app)
compare.register(app)
power.register(app)
gate.register(app)
cells.register(app)
events.register(app)
logs.register(app)
regrade.register(app)
reclassify.register(app)
audit.register(app)
export.register(app)
push.register(app)
operate.register(app)
serve.register(app)
identity.register(app)
usage.register(app)
app.add_typer(agents.app, name="agents")
app.add_typer(provider.app, name="provider")
ledger.register(app)
app.add_typer(secret.app, name="secret")
app.add_typer(operation.app, name="operation")
app.add_typer(attempt.app, name="attempt")
app.add_typer(suite.app, name="suite")
app.add_typer(dataset.app, name="dataset")
app.add_typer(job.samples_app, name="samples")
job_analysis.register(job.app)
app.add_typer(job.app, name="job")
app.add_typer(stream.app, name="stream")
app.add_typer(evaluators.app, name="evaluators")
app.add_typer(prompts.app, name="prompts")
app.add_typer(task.app, name="task")
app.add_typer(profile.app, name="profile")
app.add_typer(database.app, name="database")
app.add_typer(backup.app, name="backup")


def main() -> None:
    """The entry point; whatever no command foresaw is our own fault, told without a traceback."""
    from proctor.cli.faults import own_fault

    gc.set_threshold(COLLECT_AFTER)
    sys.argv[1:] = _server_first(sys.argv[1:])
    as_json = "--json" in sys.argv
    try:
        if as_json:
            sys.exit(_told_as_json())
        app(prog_name="proctor")
    except KeyboardInterrupt:  # before a command began, or after it ended
        sys.exit(130)
    except Exception as error:  # noqa: BLE001  the last line of defence: a report instead of a traceback
        sys.exit(own_fault(error, as_json=as_json))


def _server_first(arguments: Sequence[str]) -> list[str]:
    """``--server URL`` may stand anywhere before ``--``; it is the option of all commands."""
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    before, after = list(arguments[:ends]), list(arguments[ends:])
    moved: list[str] = []
    for place in reversed(range(len(before))):
        if before[place].startswith("--server="):
            moved[:0] = [before.pop(place)]
        elif before[place] == "--server":
            moved[:0] = before[place : place + 2]
            del before[place : place + 2]
    return [*moved, *before, *after]


def _told_as_json() -> int:
    """Run with what the command line got wrong told as JSON too, like every other error."""
    try:
        return app(prog_name="proctor", standalone_mode=False) or 0
    except typer.Abort:
        return 130
    except _UsageError as error:
        told = {"code": "usage", "message": error.format_message(), "where": None, "remedy": "proctor --help"}
        typer.echo(json.dumps({"error": told}, indent=2))
        return 2
