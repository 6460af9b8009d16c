"""``proctor evaluators list|show|register|suggest|try``: what judges outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, print_json, show

if TYPE_CHECKING:
    from proctor.evaluators.facts import DatasetFacts
    from proctor.evaluators.rows import EvaluatorDetail
    from proctor.evaluators.trials import Trial
    from proctor.kernel.canonical import Json
    from proctor.sdk.evaluators import Evaluators

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="What judges outputs: metrics, checks, code of your own, in versions.")

Reference = Annotated[
    str, typer.Argument(metavar="EVALUATOR", help="A type, or NAME@VERSION; NAME is the newest version.")
]


@app.command("list")
def list_all(
    type_name: Annotated[str | None, typer.Option("--type", help="Only those of this type.")] = None,
    as_json: AsJson = False,
) -> None:
    """List types, which need no registration, and what was registered, with cost, latency and accuracy."""
    with client(as_json=as_json) as opened:
        rows = [row for row in opened.evaluators.all() if type_name in (None, row.type)]
        if as_json:
            print_json({"evaluators": rows})
            return
        from proctor.reports.evaluators import evaluators_table

        show(evaluators_table(rows))


@app.command("show")
def show_one(evaluator: Reference, as_json: AsJson = False) -> None:
    """Show one: what it measures, how it is configured, and the digest that stands for its numbers."""
    with client(as_json=as_json) as opened:
        detail = opened.evaluators.show(evaluator)
        print_json(detail) if as_json else _tell(detail)


@app.command("register")
def register(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Its name, type and configuration.")],
    as_json: AsJson = False,
) -> None:
    """Register a version of an evaluator. The same again is the version that is there."""
    with client(as_json=as_json) as opened:
        from proctor.evaluators.registering import read_registration

        detail = opened.evaluators.register(read_registration(file))
        print_json(detail) if as_json else _tell(detail)


@app.command("suggest")
def suggest(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET|FILE.jsonl", help="NAME, NAME@VERSION, an id, or a file of examples.")
    ],
    as_json: AsJson = False,
) -> None:
    """Suggest evaluators for a dataset: by what its examples expect, by accuracy, and by cost."""
    with client(as_json=as_json) as opened:
        facts = _facts(opened.evaluators, dataset)
        found = opened.evaluators.suggest(facts)
        if as_json:
            print_json({"facts": facts, "suggestions": found})
            return
        from proctor.reports.evaluators import suggestions_table

        show(suggestions_table(found) if found else f"None fits the {facts.examples:,} examples of {dataset}.")


def _facts(evaluators: Evaluators, dataset: str) -> DatasetFacts:
    if not Path(dataset).is_file():
        return evaluators.facts(dataset)
    from proctor.evaluators.examples import facts_of_file

    return facts_of_file(Path(dataset))


@app.command("try")
def try_out(
    evaluator: Reference,
    output: Annotated[str, typer.Option(help="The output to judge.")],
    expected: Annotated[str | None, typer.Option(help="What is expected; nothing without.")] = None,
    given: Annotated[str, typer.Option("--input", help="What was asked.")] = "",
    json_values: Annotated[bool, typer.Option("--json-values", help="The three are JSON, not text.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge one output, to see what an evaluator does."""
    with client(as_json=as_json) as opened:
        from proctor.evaluators.samples import MISSING, Sample

        def value(text: str, option: str) -> Json:
            return _value(text, option) if json_values else text

        sample = Sample(
            input=value(given, "--input") if given else given,
            expected=MISSING if expected is None else value(expected, "--expected"),
            output=value(output, "--output"),
        )
        trial = opened.evaluators.try_out(evaluator, sample)
        print_json(trial) if as_json else _tell_trial(trial)


def _value(text: str, option: str) -> Json:
    from proctor.evaluators.values import NotJson, read_json

    try:
        return read_json(text)
    except NotJson as error:
        raise typer.BadParameter(f"it is no JSON: {error}", param_hint=option) from error


def _tell(detail: EvaluatorDetail) -> None:
    from proctor.reports.evaluators import facts_line

    row = detail.row
    show(f"{row.reference}: {row.description or row.type}")
    show(f"type {row.type}, implementation {row.implementation}, digest {row.digest or 'none before it is configured'}")
    show(facts_line(row))
    for name, value in detail.configuration.items():
        said = "" if name in detail.said else "  (as it is without being said)"
        show(f"  {name} = {json.dumps(value, ensure_ascii=False)}{said}")


def _tell_trial(trial: Trial) -> None:
    label = f" ({trial.label})" if trial.label is not None else ""
    found = f"{trial.score:g}{label}" if trial.score is not None else f"no score: {trial.status}: {trial.error}"
    show(f"{trial.evaluator}: {found}, in {trial.seconds:.3f} s")
