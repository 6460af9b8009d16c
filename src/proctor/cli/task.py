"""``proctor task new|try|shell``: the author's loop."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, client, out, print_json, show, told
from proctor.cli.terminal import piecewise

if TYPE_CHECKING:
    from proctor.engine.assignments import LoadedTask
    from proctor.sandboxes.interfaces import Sandbox, Snapshot
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
    after: Annotated[
        str | None, typer.Option(metavar="oracle|wrong|ATTEMPT", help="Look at what that solution or attempt left.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Type commands into a sandbox of the task, before or after a solution or a stored attempt ran in it.

    Each line is a bash of its own, in the folder that the last one ended in. With --json each line's end is an object.
    """
    with told(as_json=as_json), _state_after(after, as_json=as_json) as state:
        import asyncio

        from proctor.sdk import authoring

        loaded = authoring.load_task(task)
        solution = after if state is None else None
        asyncio.run(_shell(loaded, solution, state, as_json=as_json))


@contextmanager
def _state_after(after: str | None, *, as_json: bool) -> Iterator[Snapshot | None]:
    """The final state of an attempt; none where a solution is named, or nothing."""
    if after in (None, "oracle", "wrong"):
        yield None
        return
    with client(as_json=as_json) as opened, tempfile.TemporaryDirectory() as folder:
        yield opened.final_state(str(after), Path(folder) / "state.tar")


async def _shell(loaded: LoadedTask, after: str | None, state: Snapshot | None, *, as_json: bool) -> None:
    from proctor.sdk import authoring

    assert loaded.task is not None
    sandbox = await authoring.shell_sandbox(loaded, after=after, state=state)
    try:
        await _lines(sandbox, loaded.task.workdir, as_json=as_json)
    finally:
        await sandbox.destroy()


async def _lines(sandbox: Sandbox, cwd: str, *, as_json: bool) -> None:
    import asyncio

    from proctor.sdk import authoring

    targets = {"stdout": piecewise(sys.stdout), "stderr": piecewise(sys.stderr)}
    heard: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    def show_piece(stream: str, data: bytes) -> None:
        heard[stream].extend(data) if as_json else targets[stream](data)

    while True:
        if sys.stdin.isatty():
            typer.echo(f"{cwd}$ ", nl=False)
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line or line.strip() == "exit":
            return
        code, cwd = await authoring.shell_line(sandbox, line, cwd, show_piece)
        if as_json:
            said = {stream: bytes(pieces).decode("utf-8", "replace") for stream, pieces in heard.items()}
            typer.echo(json.dumps({"line": line.rstrip("\n"), "exit_code": code, "cwd": cwd, **said}))
            for pieces in heard.values():
                pieces.clear()
