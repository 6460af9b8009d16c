"""``proctor attempt show`` and ``proctor attempt logs``."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.output import AsJson, client, print_json, show
from proctor.cli.terminal import pass_on

if TYPE_CHECKING:
    from proctor.engine.reading import AttemptDetail
    from proctor.sdk.client import Client

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="One attempt: its phases, evidence, trajectory, artifacts and log.")

LOOK_SEC: float = 0.5
"""Between looks for a new log segment; segments come once a second."""

Reference = Annotated[str, typer.Argument(metavar="ATTEMPT", help="The beginning of an attempt's or a cell's id.")]


@app.command("show")
def show_attempt(
    attempt: Reference,
    trajectory: Annotated[bool, typer.Option("--trajectory", help="Print the trajectory (ATIF JSON).")] = False,
    save: Annotated[Path | None, typer.Option(help="Write every artifact into this new folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show an attempt's phases, evidence, gradings, outcomes and artifacts."""
    with client(as_json=as_json) as opened:
        detail = opened.attempt(attempt)
        if save is not None:
            _save(opened, detail, save)
        if trajectory:
            pass_on(opened.artifact(detail, _artifact(detail, "trajectory.json")).decode() + "\n")
        elif as_json:
            print_json(detail)
        else:
            _tell(detail)


@app.command("logs")
def show_logs(
    attempt: Reference,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the attempt ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what an attempt's agent and verifier printed, secrets removed."""
    with client(as_json=as_json) as opened:
        detail = opened.attempt(attempt)
        identity, last = detail.attempt["id"], 0
        while True:
            ended = detail.attempt["ended_at"] is not None
            for number, segment in opened.log_segments(identity, after=last):
                last = number
                _print_segment(segment, as_json=as_json)
            if ended or not follow:
                return
            time.sleep(LOOK_SEC)
            detail = opened.attempt(str(identity))


@app.command("steps")
def show_steps(
    attempt: Reference,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the attempt ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the steps of an attempt's trajectory as they come: what it said, what it ran, what that gave and cost."""
    with client(as_json=as_json) as opened:
        detail, last = opened.attempt(attempt), 0
        while True:
            ended = detail.attempt["ended_at"] is not None
            for step in opened.steps(detail, after=last):
                last = step["step_id"]
                _print_step(step, as_json=as_json)
            if ended or not follow:
                return
            time.sleep(LOOK_SEC)
            detail = opened.attempt(str(detail.attempt["id"]))


def _print_step(step: Mapping[str, Any], *, as_json: bool) -> None:
    from proctor.reports.steps import step_text

    pass_on(json.dumps(step) + "\n" if as_json else step_text(step))


def _print_segment(segment: bytes, *, as_json: bool) -> None:
    from proctor.engine.logs import text_of

    pass_on(segment.decode() if as_json else text_of(segment))


def _save(opened: Client, detail: AttemptDetail, folder: Path) -> None:
    from proctor.kernel.paths import writing

    if folder.exists():
        raise typer.BadParameter(f"{folder} exists; name a new folder", param_hint="--save")
    with writing(folder):
        folder.mkdir(parents=True)
    for artifact in detail.attempt["artifacts"]:
        opened.save_artifact(detail, artifact, folder / Path(artifact["name"]).name)


def _artifact(detail: AttemptDetail, name: str) -> Mapping[str, Any]:
    for artifact in detail.attempt["artifacts"]:
        if artifact["name"] == name:
            return dict(artifact)
    raise typer.BadParameter(f"this attempt has no {name} (yet)", param_hint="ATTEMPT")


def _tell(detail: AttemptDetail) -> None:
    from proctor.reports.formats import duration
    from proctor.reports.tables import attempt_phases

    row = detail.attempt
    ended = "running" if row["ended_at"] is None else f"ended {row['ended_at']:%Y-%m-%d %H:%M:%S} UTC"
    show(
        f"attempt {row['id']} · number {row['number']} of cell {row['cell_id']} · {row['backend']} · {ended}",
        f"waited {duration(row['waited_sec'])} for its turn · trace {row['trace_id']} · worker {row['worker_id']}",
        attempt_phases(detail.evidence),
        *(_outcome_line(outcome) for outcome in detail.outcomes),
        *(line for grading in detail.gradings for line in _grading_lines(grading)),
        "limits: " + (" · ".join(f"{kind} {strength}" for kind, strength in row["limits"].items()) or "none known"),
        *(f"artifact {a['name']}: {a['size']:,} bytes, sha256 {a['sha256'][:12]}" for a in row["artifacts"]),
        *(_tail(item) for item in detail.evidence if item["detail"].get("stderr_tail")),
    )


def _outcome_line(outcome: Mapping[str, Any]) -> str:
    verdict = {True: "pass", False: "fail", None: "no verdict"}[outcome["verdict"]]
    limit = f" · limit {outcome['limit']}" if outcome["limit"] else ""
    return f"{outcome['class']} · {outcome['owner']} · {verdict} · rule {outcome['rule']}{limit}"


def _grading_lines(grading: Mapping[str, Any]) -> Iterator[str]:
    from proctor.reports.tables import step_line

    detail = grading["detail"]
    forgeable = " · forgeable" if grading["forgeable"] else ""
    broken = f" · step {detail['step']} broke: {detail['problem']}" if "step" in detail else ""
    yield f"grading {grading['number']}: {grading['mode']} · rewards {grading['rewards']}{forgeable}{broken}"
    for step in detail.get("steps", ()):
        yield f"  {step_line(step)}"
    if detail.get("executed_mean") and detail["executed_mean"] != grading["rewards"]:
        yield f"  mean of the steps that were run, as Harbor reads it: {detail['executed_mean']}"


def _tail(item: Mapping[str, Any]) -> str:
    lines = item["detail"]["stderr_tail"].splitlines()[-10:]
    return f"{item['phase']} stderr, last lines:\n" + "\n".join(f"  {line}" for line in lines)
