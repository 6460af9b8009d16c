"""``proctor run`` and ``proctor resume``: prepare, show what it takes, work, show what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.cells import check_outcome, options_named
from proctor.cli.gate import AgainstOption, AlphaOption, FailUnder, Files, JUnitOption, MarkdownOption, wanted
from proctor.cli.output import AsJson, ExitCode, client, err, print_json, show

if TYPE_CHECKING:
    from proctor.engine.spec import Gate
    from proctor.sdk.client import Client, Prepared
    from proctor.sdk.running import RunSession

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(run)
    app.command()(resume)


def run(
    what: Annotated[str, typer.Argument(metavar="FILE.toml|TASKS", help="A run-set file, or tasks with --agent.")],
    agent: Annotated[str, typer.Option(help="With TASKS: agents by name, separated by commas.")] = "",
    trials: Annotated[int | None, typer.Option(min=1, help="With TASKS: trials of each cell; 1 without.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Attempts at once, whatever the file says.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would take; start nothing.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Work on at most so many cells now.")] = None,
    task: Annotated[str | None, typer.Option(metavar="GLOB", help="Work only on tasks whose name fits.")] = None,
    only: Annotated[str | None, typer.Option(help="'owed': only cells that had an attempt and no verdict.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="A new run set of new trials, nothing reused.")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="Go on as resolved then, if it has moved.")] = False,
    new: Annotated[bool, typer.Option("--new", help="A new run set, if what it resolves to has moved.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML report to this file.")] = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    fail_under: FailUnder = None,
    against: AgainstOption = None,
    alpha: AlphaOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a run-set file, or agents over tasks. Safe to repeat: what is decided is never run again.

    Exit codes: 0 done and gate met, 1 gate missed, 2 usage, 3 gaps remain or the gate is open, 4 paused, 5 own fault,
    130 interrupted.
    """
    from proctor.cli import running
    from proctor.kernel.paths import check_target
    from proctor.sdk.requests import RunRequest

    with client(as_json=as_json) as opened:
        request = RunRequest(
            limit=limit, task=task, only_owed=_only(only), fresh=fresh, go_on=go_on, new=new, dry_run=dry_run
        )
        if html is not None:
            check_target(html)
        prepared = _prepare(opened, what, agent, trials, concurrency, fresh=fresh)
        gate = wanted(opened, prepared.spec.gate, fail_under, against, alpha)
        running.tell_size(prepared, quiet=as_json)
        if dry_run:
            report = opened.dry_run(prepared, request)
            if as_json:
                print_json(report)
            else:
                show(*running.dry_run_lines(report))
            raise typer.Exit(ExitCode.USAGE if report.missing_secrets else ExitCode.DONE)
        files = Files(html=html, junit=junit, markdown=markdown)
        files.check()
        running.warn_of_gate(opened, gate, quiet=as_json)
        session = running.begin(opened, prepared, request, quiet=as_json)
        code = _work(opened, session, files, gate, as_json=as_json)
    raise typer.Exit(code)


def resume(
    run_set: Annotated[str | None, typer.Argument(help="Name or id; the newest without.")] = None,
    outcome: Annotated[
        list[str] | None, typer.Option(help="Only cells whose last attempt ended in this class; repeatable.")
    ] = None,
    profile: Annotated[list[str] | None, typer.Option(help="Only those of this profile; repeatable.")] = None,
    task: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only those whose task's name fits; repeatable.")
    ] = None,
    cell: Annotated[str | None, typer.Option(metavar="ID", help="Only this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a paused, cancelled or gappy run set: owed cells and dead letters are queued again."""
    from proctor.engine.choosing import CellChoice
    from proctor.kernel.words import counted

    for one in outcome or []:
        check_outcome(one)
    said = CellChoice(outcomes=tuple(outcome or []), profiles=tuple(profile or []), tasks=tuple(task or []), cell=cell)
    with client(as_json=as_json) as opened:
        with options_named():
            session, queued = opened.resume(run_set, None if said == CellChoice() else said)
        if not as_json:
            err().print(f"{session.run_set.name}: {counted(queued, 'cell')} queued again")
        code = _work(opened, session, Files(), None, as_json=as_json)
    raise typer.Exit(code)


def _only(only: str | None) -> bool:
    if only not in (None, "owed"):
        raise typer.BadParameter("the only choice is 'owed'", param_hint="--only")
    return only == "owed"


def _prepare(
    opened: Client, what: str, agent: str, trials: int | None, concurrency: int | None, *, fresh: bool
) -> Prepared:
    path = Path(what)
    is_file = not path.is_dir() and (path.is_file() or path.suffix == ".toml")
    if not agent and path.is_dir():
        raise typer.BadParameter("a folder of tasks needs --agent, such as --agent oracle,noop", param_hint="TASKS")
    if is_file or not agent:
        for option, given in (("--agent", bool(agent)), ("--trials", trials is not None)):
            if given:
                raise typer.BadParameter(f"it goes with TASKS; {what} is a file with its own", param_hint=option)
        return opened.prepare(path, concurrency=concurrency, fresh=fresh)
    names = [name.strip() for name in agent.split(",") if name.strip()]
    return opened.prepare_tasks(what, names, trials=trials or 1, concurrency=concurrency, fresh=fresh)


def _work(opened: Client, session: RunSession, files: Files, gate: Gate | None, *, as_json: bool) -> int:
    from proctor.cli import running

    with running.told_how_to_go_on(opened, session.run_set):
        interrupted = running.follow(session, quiet=as_json)
        row = session.result()
        board = opened.leaderboard(str(row.id), gate=gate)
        if as_json:
            print_json(board)
        else:
            running.show_end(board)
        files.write(opened, board)
        if files.html is not None and not as_json:
            show(f"report: {files.html}")
        if interrupted:
            raise KeyboardInterrupt
    return running.exit_code(board)
