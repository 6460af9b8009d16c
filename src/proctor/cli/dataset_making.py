"""``proctor dataset filter|merge|relabel|dedupe|sample|split``: versions made of versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.dataset_words import (
    Metadata,
    NewLabel,
    Reference,
    SearchQuery,
    new_version,
    seldom,
    tell_made,
)
from proctor.cli.output import AsJson, asked_for, client, counting, print_json, show, told

if TYPE_CHECKING:
    from proctor.datasets.derivations import Derivation

__all__ = ["register"]

Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The dataset that gets the version; the same without.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("filter")(filter_dataset)
    app.command("merge")(merge_datasets)
    app.command("relabel")(relabel_dataset)
    app.command("dedupe")(dedupe_dataset)
    app.command("sample")(sample_dataset)
    app.command("split")(split_dataset)


def filter_dataset(
    dataset: Reference,
    tag: Annotated[list[str] | None, typer.Option(help="With this tag; repeat it for more.")] = None,
    without_tag: Annotated[list[str] | None, typer.Option(help="Without this tag; repeat it for more.")] = None,
    difficulty: Annotated[str | None, typer.Option(help="Of this difficulty.")] = None,
    source: Annotated[str | None, typer.Option(help="From this source.")] = None,
    split: Annotated[str | None, typer.Option(help="Of this split.")] = None,
    words: Annotated[str | None, typer.Option(help="With this in the id, input or expected output.")] = None,
    query: SearchQuery = None,
    name: Name = None,
    version: NewLabel = None,
    metadata: Metadata = None,
    as_json: AsJson = False,
) -> None:
    """Make a version of the examples that fit all that is named."""
    if not (tag or without_tag or difficulty or source or split or words or query):
        raise typer.BadParameter(
            "say what to keep: --tag, --without-tag, --difficulty, --source, --split, --words or --query"
        )
    from proctor.datasets.derivations import Filter

    wanted = asked_for(
        Filter,
        source=dataset,
        tags=tag or [],
        without_tags=without_tag or [],
        difficulty=difficulty,
        from_source=source,
        split=split,
        words=words,
        query=query,
    )
    _make(wanted, name, version, metadata, as_json=as_json)


def merge_datasets(
    datasets: Annotated[list[str], typer.Argument(metavar="DATASET DATASET...", help="In the order wanted.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The dataset that gets the version.")],
    prefer: Annotated[
        str | None, typer.Option(help="first or last: which stays where an id stands for different examples.")
    ] = None,
    version: NewLabel = None,
    metadata: Metadata = None,
    as_json: AsJson = False,
) -> None:
    """Make a version of the examples of several, one after the other."""
    if len(datasets) < 2:
        raise typer.BadParameter("name two or more", param_hint="DATASET")
    if prefer not in (None, "first", "last"):
        raise typer.BadParameter(f"{prefer!r} is neither first nor last", param_hint="--prefer")
    from proctor.datasets.derivations import Merge

    wanted = asked_for(Merge, sources=datasets, prefer=prefer)
    _make(wanted, name, version, metadata, as_json=as_json)


def relabel_dataset(
    dataset: Reference,
    labels: Annotated[
        Path, typer.Option("--labels", metavar="FILE", help="JSONL or CSV: an id a row, and the fields to replace.")
    ],
    name: Name = None,
    version: NewLabel = None,
    metadata: Metadata = None,
    as_json: AsJson = False,
) -> None:
    """Make a version with some fields of some examples replaced: expected, difficulty, source, tags, metadata."""
    with told(as_json=as_json):
        from proctor.datasets.derivations import Relabel
        from proctor.datasets.labels import read_labels

        wanted = asked_for(Relabel, source=dataset, labels=read_labels(labels))
    _make(wanted, name, version, metadata, as_json=as_json)


def dedupe_dataset(
    dataset: Reference,
    by: Annotated[str, typer.Option(help="input, or input+expected: what must be the same.")] = "input",
    name: Name = None,
    version: NewLabel = None,
    metadata: Metadata = None,
    as_json: AsJson = False,
) -> None:
    """Make a version with the first of the examples that say the same."""
    if by not in ("input", "input+expected"):
        raise typer.BadParameter(f"{by!r} is neither input nor input+expected", param_hint="--by")
    from proctor.datasets.derivations import Dedupe

    _make(asked_for(Dedupe, source=dataset, by=by), name, version, metadata, as_json=as_json)


def sample_dataset(
    dataset: Reference,
    size: Annotated[int, typer.Option(min=1, help="How many examples.")],
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed draws the same examples.")],
    by: Annotated[str | None, typer.Option(help="difficulty or source: its values keep their shares.")] = None,
    name: Name = None,
    version: NewLabel = None,
    metadata: Metadata = None,
    as_json: AsJson = False,
) -> None:
    """Make a version of some examples, drawn by a seed."""
    if by not in (None, "difficulty", "source"):
        raise typer.BadParameter(f"{by!r} is neither difficulty nor source", param_hint="--by")
    from proctor.datasets.derivations import Sample

    wanted = asked_for(Sample, source=dataset, size=size, seed=seed, by=by)
    _make(wanted, name, version, metadata, as_json=as_json)


def split_dataset(
    dataset: Reference,
    shares: Annotated[list[str], typer.Argument(metavar="NAME=SHARE...", help="Such as train=0.8 test=0.2.")],
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Another seed is another split.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Give a version splits by the hashes of its ids; later versions of the dataset have them too."""
    with client(as_json=as_json) as opened:
        detail = opened.datasets.split(dataset, dict(map(_share, shares)), seed=seed)
        if as_json:
            print_json(detail)
            return
        from proctor.reports.datasets import splits_line

        show(f"{detail.version.reference}", *splits_line(detail.splits))


def _share(text: str) -> tuple[str, float]:
    name, equals, share = text.partition("=")
    try:
        found = float(share)
    except ValueError:
        found = 0.0
    if not name or not equals or not 0 < found <= 1:
        raise typer.BadParameter(f"{text[:100]!r} is no NAME=SHARE with a share above 0", param_hint="SHARES")
    return name, found


def _make(
    wanted: Derivation, name: str | None, version: str | None, metadata: list[str] | None, *, as_json: bool
) -> None:
    """Have it made; without a name as a version of the dataset that it is made of."""
    with client(as_json=as_json) as opened:
        if name is None:
            assert wanted.operation != "merge"
            name = opened.datasets.show(wanted.source).version.dataset
        new = new_version(name, version, metadata)
        more = seldom(counting("example", "written", quiet=as_json))
        done = opened.datasets.derive(wanted, new, on_rows=more)
        print_json(done) if as_json else tell_made(done)
