"""``proctor task new|try|shell``: the author's loop."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, out, print_json, show, told
from proctor.cli.terminal import piecewise

if TYPE_CHECKING:
    from proctor.sandboxes.interfaces import Sandbox
    from proctor.sdk.authoring import Tried

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Write tasks: make one, try its solutions, look into its sandbox.")

Folder = Annotated[Path, typer.Argument(metavar="TASK", help="A task's folder.")]


@app.command()
def new(folder: Annotated[Path, typer.Argument(help="The new folder.")], as_json: AsJson = False) -> None:
    """Make a task folder that works as it stands, with comments that say what to change."""
    with told(as_json=as_json):
        from proctor.suites.template import write_task

        write_task(folder)
        following = shlex.join(["proctor", "task", "try", str(folder)])
        print_json({"folder": folder}) if as_json else show(f"Made {folder}. Next: {following}")


@app.command("try")
def try_solutions(
    task: Folder,
    solution: Annotated[str, typer.Option(help="oracle, noop or wrong; all without.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run oracle, noop and the wrong solution in sandboxes, with logs. Exit code 1 if one is not as it should be."""
    with told(as_json=as_json):
        import asyncio

        from proctor.sdk import authoring

        loaded = authoring.load_task(task)
        possible = authoring.solutions_of(loaded)
        wanted = [solution] if solution else possible
        if not set(wanted) <= set(possible):
            raise typer.BadParameter(f"this task can be tried with {', '.join(possible)}", param_hint="--solution")
        tried = [asyncio.run(authoring.try_task(loaded, one)) for one in wanted]
        if as_json:
            print_json({"task": loaded.name, "tried": tried})
        else:
            for one in tried:
                _tell(one)
        if not all(one.as_wanted for one in tried):
            raise typer.Exit(ExitCode.GATE_MISSED)


def _tell(tried: Tried) -> None:
    from rich.text import Text

    from proctor.reports.tables import step_line

    console = out()
    good = Text("as it should be", style="green")
    mark = good if tried.as_wanted else Text("NOT as it should be", style="red")
    outcome = tried.outcome
    told = f": {outcome.outcome} (rule {outcome.rule}), {tried.seconds:.2f} s, "
    console.print(Text(tried.solution, style="bold") + Text(told) + mark)
    for item in tried.evidence:
        if item.get("failed"):
            console.print(f"  {item['phase']}: {item.get('message')}", soft_wrap=True)
    for step in tried.steps:
        console.print(f"  {step_line(step)}", soft_wrap=True)
    for line in tried.log.splitlines():
        console.print(f"  | {line}", soft_wrap=True)


@app.command()
def shell(
    task: Folder,
    after: Annotated[str | None, typer.Option(help="oracle or wrong: look at what that left.")] = None,
) -> None:
    """Type commands into a sandbox of the task, before or after a solution ran; each line is a bash of its own."""
    with told(as_json=False):
        import asyncio

        from proctor.sdk import authoring

        if after not in (None, "oracle", "wrong"):
            raise typer.BadParameter("oracle or wrong", param_hint="--after")
        loaded = authoring.load_task(task)
        assert loaded.task is not None
        asyncio.run(_shell(loaded, loaded.task.workdir, after))


async def _shell(loaded: object, cwd: str, after: str | None) -> None:
    from proctor.engine.assignments import LoadedTask
    from proctor.sdk import authoring

    assert isinstance(loaded, LoadedTask)
    sandbox = await authoring.shell_sandbox(loaded, after=after)
    try:
        await _lines(sandbox, cwd)
    finally:
        await sandbox.destroy()


async def _lines(sandbox: Sandbox, cwd: str) -> None:
    import asyncio

    from proctor.sdk import authoring

    targets = {"stdout": piecewise(sys.stdout), "stderr": piecewise(sys.stderr)}

    def show_piece(stream: str, data: bytes) -> None:
        targets[stream](data)

    while True:
        if sys.stdin.isatty():
            typer.echo(f"{cwd}$ ", nl=False)
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line or line.strip() == "exit":
            return
        _, cwd = await authoring.shell_line(sandbox, line, cwd, show_piece)
