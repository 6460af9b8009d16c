"""``proctor job`` and ``proctor samples``: evaluation jobs, and the outputs that they judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.evaluate import exit_code
from proctor.cli.output import AsJson, client, counting, print_json, show
from proctor.kernel.ids import short_id

__all__ = ["app", "samples_app"]

app = typer.Typer(
    no_args_is_help=True, help="Evaluation jobs: look at them, pause, resume, cancel, delete and hold them."
)
samples_app = typer.Typer(no_args_is_help=True, help="Outputs that are kept to be judged.")
_Job = Annotated[str, typer.Argument(metavar="JOB", help="Its name (the newest), its id, or the id's beginning.")]


@app.command("list")
def list_jobs(
    state: Annotated[str | None, typer.Option(help="Only those: queued, running, paused, complete, …")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    from proctor.jobs.values import JobState

    if state is not None and state not in list(JobState):
        raise typer.BadParameter(f"choose from {', '.join(JobState)}", param_hint="--state")
    with client(as_json=as_json) as opened:
        jobs = opened.evaluations.jobs(state=None if state is None else JobState(state), limit=limit)
        if as_json:
            print_json({"jobs": jobs})
            return
        from proctor.reports.jobs import jobs_table

        show(jobs_table(jobs) if jobs else "No jobs yet: proctor evaluate DATASET --outputs FILE -e exact-match")


@app.command("show")
def show_job(job: _Job, as_json: AsJson = False) -> None:
    """Show a job: how far it is, each evaluator's mean with its error, what is missing and why."""
    with client(as_json=as_json) as opened:
        standing = opened.evaluations.standing(job)
        if as_json:
            print_json(standing)
        else:
            from proctor.reports.jobs import job_lines

            show(*job_lines(standing))
        if standing.job.state.has_ended and (code := exit_code(standing)):
            raise typer.Exit(code)


@app.command("results")
def show_results(
    job: _Job,
    status: Annotated[str | None, typer.Option(help="Only results of that status, such as invalid_example.")] = None,
    evaluator: Annotated[str | None, typer.Option(help="Only results of this evaluator.")] = None,
    at_least: Annotated[float | None, typer.Option(help="Only scores from here on.")] = None,
    below: Annotated[float | None, typer.Option(help="Only scores under this one.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    after: Annotated[int, typer.Option(min=0, help="Leave so many of the first ones out.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show single results, in the order of evaluator, repeat and row."""
    from proctor.jobs.asking import ResultChoice

    choice = ResultChoice(status=status, evaluator=evaluator, at_least=at_least, below=below)
    with client(as_json=as_json) as opened:
        rows = opened.evaluations.results(job, choice, after=after - 1, limit=limit)
        if as_json:
            print_json({"results": rows})
            return
        from proctor.reports.jobs import results_table

        show(results_table(rows) if rows else "No such results.")


@app.command("pause")
def pause_job(job: _Job, as_json: AsJson = False) -> None:
    """No new chunks; running ones finish."""
    with client(as_json=as_json) as opened:
        _state(opened.evaluations.pause(job), as_json=as_json)


@app.command("resume")
def resume_job(job: _Job, as_json: AsJson = False) -> None:
    """Do what has no results yet, in this process, chunks that failed among it."""
    from proctor.cli.evaluate import finish

    with client(as_json=as_json) as opened:
        finish(opened.evaluations, opened.evaluations.resume(job), as_json=as_json)


@app.command("cancel")
def cancel_job(job: _Job, as_json: AsJson = False) -> None:
    """End a job; the results that are there stay."""
    with client(as_json=as_json) as opened:
        _state(opened.evaluations.cancel(job), as_json=as_json)


@app.command("delete")
def delete_job(job: _Job, as_json: AsJson = False) -> None:
    """Delete a job's results for good. What it was stays on record: `proctor job list --state deleted`."""
    with client(as_json=as_json) as opened:
        _state(opened.evaluations.delete(job), as_json=as_json)


@app.command("hold")
def hold_job(
    job: _Job,
    reason: Annotated[str, typer.Option(help="Why nothing of it may be removed, such as a case's number.")],
    as_json: AsJson = False,
) -> None:
    """Put a job under a legal hold: nothing removes it or its results until it is released. For owners."""
    with client(as_json=as_json) as opened:
        _state(opened.evaluations.hold(job, reason), as_json=as_json)


@app.command("release")
def release_job(job: _Job, as_json: AsJson = False) -> None:
    """End a job's legal hold; nothing is removed by that. For owners."""
    with client(as_json=as_json) as opened:
        _state(opened.evaluations.release(job), as_json=as_json)


@app.command("retention")
def retention(
    results: Annotated[int | None, typer.Option(help="Days for which single results stay.")] = None,
    rollups: Annotated[int | None, typer.Option(help="Days for which their daily sums stay.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set, as an owner, how long results of jobs stay that were submitted with --no-keep."""
    with client(as_json=as_json) as opened:
        told = opened.evaluations.retention()
        changed = {
            name: days for name, days in (("result_days", results), ("rollup_days", rollups)) if days is not None
        }
        if changed:
            told = opened.evaluations.set_retention(replace(told, **changed))
        words = f"results: {told.result_days:,} days · their daily sums: {told.rollup_days:,} days"
        print_json(told) if as_json else show(words)


def _state(job: object, *, as_json: bool) -> None:
    from proctor.jobs.values import Job

    assert isinstance(job, Job)
    if as_json:
        print_json({"job": job})
    else:
        held = "" if job.hold is None else f", held: {job.hold.reason}"
        show(f"{job.name} ({short_id(job.id)}): {job.state.value}{held}")


@samples_app.command("add")
def add_samples(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="NAME, NAME@VERSION or an id.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSONL, CSV or Parquet: id, output, repeat.")],
    name: Annotated[str | None, typer.Option(help="A label; without one the file's name.")] = None,
    model: Annotated[str | None, typer.Option(help="What made the outputs, where the rows don't say.")] = None,
    id_field: Annotated[str, typer.Option(help="The field that names the example.")] = "id",
    output_field: Annotated[str, typer.Option(help="The field that holds the output.")] = "output",
    skip_malformed: Annotated[bool, typer.Option("--skip-malformed", help="Leave out what is no output.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keep the outputs of a file, to be judged as often as one likes."""
    from proctor.jobs.outputs_files import OutputFields
    from proctor.reports.jobs import left_out_lines
    from proctor.sdk.evaluations import OutputsTold

    with client(as_json=as_json) as opened:
        told = OutputsTold(dataset=dataset, name=name or file.stem, model=model, skip_malformed=skip_malformed)
        fields = OutputFields(id=id_field, output=output_field)
        more = counting("output", "read", quiet=as_json)
        kept, fresh = opened.evaluations.add_outputs(file, told, fields, on_rows=more)
        if as_json:
            print_json({"samples": kept, "new": fresh})
        else:
            word = "kept" if fresh else "there already"
            show(f"{kept.name} ({short_id(kept.id)}): {kept.outputs:,} outputs, {kept.repeats} of each example, {word}")
            show(*left_out_lines(kept))


@samples_app.command("list")
def list_samples(limit: Annotated[int, typer.Option(min=1, max=1000)] = 50, as_json: AsJson = False) -> None:
    """List outputs that are kept, the newest first."""
    with client(as_json=as_json) as opened:
        found = opened.evaluations.sample_sets(limit=limit)
        if as_json:
            print_json({"samples": found})
            return
        from proctor.reports.jobs import samples_table

        show(samples_table(found) if found else "No outputs yet: proctor samples add DATASET FILE")


@samples_app.command("delete")
def delete_samples(
    samples: Annotated[str, typer.Argument(metavar="SAMPLES", help="Their name (the newest), or id.")],
    as_json: AsJson = False,
) -> None:
    """Delete outputs for good; refused while a job that judged them is there."""
    with client(as_json=as_json) as opened:
        gone = opened.evaluations.delete_samples(samples)
        print_json({"samples": gone}) if as_json else show(f"{gone.name} ({short_id(gone.id)}): deleted")
