"""``proctor evaluate``: judge the outputs of a dataset's examples, in this process or on a server."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, asked_for, client, counting, err, print_json, show

if TYPE_CHECKING:
    from proctor.jobs.asking import RouteRequest
    from proctor.jobs.summaries import JobStanding
    from proctor.jobs.values import Job
    from proctor.sdk.evaluations import Evaluations
    from proctor.sdk.job_sessions import JobSession

__all__ = ["exit_code", "finish", "register"]

LOOK_SEC: float = 0.25
"""Between looks at a job's progress."""
LINE_SEC: float = 5.0
"""Between lines where standard error is no terminal."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="NAME, NAME@VERSION or an id.")],
    evaluator: Annotated[
        list[str], typer.Option("--evaluator", "-e", metavar="NAME[@VERSION]", help="By what; may be repeated.")
    ],
    outputs: Annotated[
        str | None, typer.Option(metavar="FILE|NAME", help="What to judge: a file, or outputs that are kept.")
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Or what is to make them: model, prompt, parameters."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Outputs of a target for each example.")] = 1,
    budget: Annotated[str | None, typer.Option(help="What models may cost at the most, as in '5 USD'.")] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EVALUATOR=AFTER:LOW..HIGH[:P]",
            help="EVALUATOR judges what AFTER scores from LOW to HIGH, and with probability P the rest.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="What made the outputs of the file.")] = None,
    skip_malformed: Annotated[
        bool, typer.Option("--skip-malformed", help="Leave out rows of the file that are no outputs of an example.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="A label for the job.")] = None,
    band: Annotated[str, typer.Option(help="How urgent it is: critical, high, normal, low.")] = "normal",
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="For good, or as long as the tenant keeps passing results.")
    ] = True,
    detach: Annotated[bool, typer.Option("--detach", help="Submit it and leave; a worker does it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge outputs by evaluators: a result for each example, kept for good, and the means with their errors."""
    from proctor.jobs.asking import EvaluationRequest

    with client(as_json=as_json) as opened:
        evaluations = opened.evaluations
        asked: dict[str, object] = {"dataset": dataset, "evaluators": evaluator, "name": name, "band": band}
        if target is not None:
            from proctor.jobs.targets import read_target

            asked["target"] = read_target(target)
        asked["routes"] = [_route(one) for one in route or ()]
        request = asked_for(EvaluationRequest, **asked, repeats=repeats, budget=budget, keep=keep)
        if outputs is not None:  # after all that was typed is known to be right: a file is taken in
            kept = _kept(evaluations, dataset, outputs, model, skip=skip_malformed, quiet=as_json)
            request = request.model_copy(update={"samples": kept})
        job = evaluations.submit(request)
        if detach:
            _told(evaluations.standing(str(job.id)), as_json=as_json)
        else:
            finish(evaluations, job, as_json=as_json)


def finish(evaluations: Evaluations, job: Job, *, as_json: bool) -> None:
    """Work on a job to its end, tell its numbers, and exit by whether there are gaps."""
    _worked_on(evaluations, job, quiet=as_json)
    standing = evaluations.standing(str(job.id))
    _told(standing, as_json=as_json)
    if code := exit_code(standing):
        raise typer.Exit(code)


def _kept(evaluations: Evaluations, dataset: str, outputs: str, model: str | None, *, skip: bool, quiet: bool) -> str:
    """The reference of the outputs, taken in where they are a file."""
    path = Path(outputs)
    if not path.is_file():
        return outputs
    from proctor.reports.jobs import left_out_lines
    from proctor.sdk.evaluations import OutputsTold

    told = OutputsTold(dataset=dataset, name=path.stem, model=model, skip_malformed=skip)
    kept = evaluations.add_outputs(path, told, on_rows=counting("output", "read", quiet=quiet))[0]
    for line in left_out_lines(kept):
        err().print(line, soft_wrap=True, markup=False)
    return str(kept.id)


_ROUTE = re.compile(r"(?P<evaluator>[^=]+)=(?P<after>[^:]+):(?P<low>[0-9.]+?)\.\.(?P<high>[0-9.]+)(:(?P<p>[0-9.]+))?")


def _route(text: str) -> RouteRequest:
    from proctor.jobs.asking import RouteRequest

    found = _ROUTE.fullmatch(text)
    try:
        if found is None:
            raise ValueError(text)
        numbers = {"low": float(found["low"]), "high": float(found["high"]), "otherwise": float(found["p"] or 0)}
        return RouteRequest.model_validate({"evaluator": found["evaluator"], "after": found["after"], **numbers})
    except ValueError as error:
        told = f"{text!r} is no route such as meaning=token-f1:0.2..0.8:0.05, with numbers from 0 to 1."
        raise typer.BadParameter(told, param_hint="--route") from error


def _worked_on(evaluations: Evaluations, job: Job, *, quiet: bool) -> None:
    session = evaluations.session(job)
    with _interrupts(session) as presses:
        session.start()
        _follow(session, quiet=quiet)
    if presses:
        err().print(f"Interrupted. To go on: proctor job resume {job.id}", soft_wrap=True)
        raise typer.Exit(ExitCode.INTERRUPTED)


@contextmanager
def _interrupts(session: JobSession) -> Iterator[list[int]]:
    presses: list[int] = []

    def press(number: int, _frame: FrameType | None) -> None:
        presses.append(number)
        session.stop()

    before = {number: signal.signal(number, press) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield presses
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _follow(session: JobSession, *, quiet: bool) -> None:
    if quiet:
        while not session.wait(LOOK_SEC):
            pass
    elif err().is_terminal:
        _bar(session)
    else:
        while not session.wait(LINE_SEC):
            err().print(f"{session.done:,} of {session.job.expected:,} evaluations", soft_wrap=True)


def _bar(session: JobSession) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err(), transient=True) as progress:
        task = progress.add_task("evaluations", total=session.job.expected, completed=session.done)
        while not session.wait(LOOK_SEC):
            progress.update(task, completed=session.done)


def _told(standing: JobStanding, *, as_json: bool) -> None:
    if as_json:
        print_json(standing)
        return
    from proctor.reports.jobs import job_lines

    show(*job_lines(standing))


def exit_code(standing: JobStanding) -> int:
    """Gaps, where not every chunk has its results."""
    return ExitCode.DONE if standing.job.state.value == "complete" else ExitCode.GAPS
