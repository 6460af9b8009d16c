"""``proctor dataset import|list|show|examples|quality|diff|export``; its neighbour makes versions of versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli import dataset_making
from proctor.cli.dataset_words import (
    Metadata,
    NewLabel,
    Reference,
    SearchQuery,
    chosen,
    new_version,
    seldom,
    tell_made,
)
from proctor.cli.output import AsJson, asked_for, client, counting, err, print_json, show

if TYPE_CHECKING:
    from proctor.datasets.service import Imported

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Immutable versions of examples: import, look, compare, derive, export.")
dataset_making.register(app)

Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only those with it; repeat it for more.")]
Difficulty = Annotated[str | None, typer.Option(help="Only those of this difficulty.")]
Split = Annotated[str | None, typer.Option(help="Only those of this split.")]
PROBLEMS: int = 20
"""Rows left out that are told; --json has the first thousand."""


@app.command("import")
def import_dataset(
    source: Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="What to import.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The dataset; a new one begins with it.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="jsonl, csv, parquet, hf, inspect, langfuse, phoenix or promptfoo."),
    ] = None,
    id_field: Annotated[
        str | None, typer.Option(help="What the file calls the id; id where it is there; '' if no field is the id.")
    ] = None,
    input_field: Annotated[str, typer.Option(help="What the file calls the input.")] = "input",
    expected_field: Annotated[
        str, typer.Option(help="What the file calls what is expected; '' if no field is that.")
    ] = "expected",
    version: NewLabel = None,
    metadata: Metadata = None,
    skip_malformed: Annotated[bool, typer.Option("--skip-malformed", help="Leave out what is no example.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import examples. Under a name that exists they are compared by id with its newest version.

    Nothing changed makes no version. An example without an id gets one of its input.
    """
    with client(as_json=as_json) as opened:
        from proctor.datasets.fields import Fields
        from proctor.datasets.formats.catalogue import Format
        from proctor.datasets.service import ImportAsked

        asked = ImportAsked(
            format=chosen(Format, format_, "--format"),
            fields=Fields(id=id_field, input=input_field, expected=expected_field),
            skip_malformed=skip_malformed,
            dry_run=dry_run,
        )
        new = new_version(name, version, metadata)
        told = counting("example", "read", quiet=as_json)
        done = opened.datasets.import_file(source, asked, new, on_rows=seldom(told))
        print_json(done) if as_json else _tell_import(done)


@app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List datasets with their newest versions."""
    with client(as_json=as_json) as opened:
        rows = opened.datasets.all()
        if as_json:
            print_json({"datasets": rows})
            return
        from proctor.reports.datasets import datasets_table

        show(datasets_table(rows) if rows else "No datasets yet: proctor dataset import FILE --name NAME")


@app.command("show")
def show_dataset(dataset: Reference, as_json: AsJson = False) -> None:
    """Show a version: its size, content hash, what it was made of, its splits, and the dataset's other versions."""
    with client(as_json=as_json) as opened:
        detail = opened.datasets.show(dataset)
        versions = opened.datasets.versions(detail.version.dataset)
        if as_json:
            print_json({"version": detail.version, "splits": detail.splits, "versions": versions})
            return
        from proctor.reports.datasets import splits_line, version_lines, versions_table

        show(*version_lines(detail.version), *splits_line(detail.splits), versions_table(versions))


@app.command("examples")
def list_examples(
    dataset: Reference,
    tag: Tags = None,
    difficulty: Difficulty = None,
    split: Split = None,
    words: Annotated[str | None, typer.Option(help="Only those with this in id, input or expected output.")] = None,
    query: SearchQuery = None,
    start: Annotated[int, typer.Option("--from", min=0, help="The position to begin at.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List a version's examples in their order."""
    with client(as_json=as_json) as opened:
        from proctor.datasets.derivations import Filter

        wanted = asked_for(
            Filter, source=dataset, tags=tag or [], difficulty=difficulty, split=split, words=words, query=query
        )
        page = opened.datasets.examples(wanted, start=start, limit=limit)
        if as_json:
            print_json(page)
            return
        from proctor.reports.datasets import examples_table

        show(examples_table(page.examples) if page.examples else "No such examples.")
        if page.next is not None:
            show(f"more: --from {page.next}")


@app.command("quality")
def show_quality(dataset: Reference, as_json: AsJson = False) -> None:
    """Tell what to know of a version before trusting numbers on it, and the query that finds what is counted."""
    with client(as_json=as_json) as opened:
        found = opened.datasets.quality(dataset)
        if as_json:
            print_json(found)
            return
        from proctor.reports.dataset_quality import quality_tables

        show(*quality_tables(found))


@app.command("diff")
def diff_versions(
    before: Annotated[str, typer.Argument(metavar="A", help="NAME@VERSION, NAME or an id.")],
    after: Annotated[str, typer.Argument(metavar="B", help="What it is compared with.")],
    after_id: Annotated[str, typer.Option(help="Go on after the example of this id.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many examples.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show how B differs from A by the ids of their examples: added, changed with the fields, removed."""
    with client(as_json=as_json) as opened:
        found = opened.datasets.diff(before, after, beyond=after_id, limit=limit)
        if as_json:
            print_json(found)
            return
        from proctor.reports.datasets import changes_table, difference_line

        show(f"{found.before.reference} to {found.after.reference}: {difference_line(found.difference)}")
        if found.changes:
            show(changes_table(found.changes))
        if found.next is not None:
            show(f"more: --after-id {found.next}")


@app.command("export")
def export_dataset(
    dataset: Reference,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A new file: .jsonl, .csv or .parquet.")],
    format_: Annotated[str | None, typer.Option("--format", help="jsonl, csv or parquet, whatever its name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a version to a file, with its embeddings. JSONL and Parquet read back as the same version."""
    with client(as_json=as_json) as opened:
        from proctor.datasets.exporting import ExportFormat, export_format
        from proctor.kernel.words import counted

        kind = export_format(to, chosen(ExportFormat, format_, "--format"))
        told = counting("example", "written", quiet=as_json)
        done = opened.datasets.export(dataset, to, kind, on_rows=seldom(told))
        print_json(done) if as_json else show(f"{done.version.reference}: {counted(done.rows, 'example')}: {done.path}")


def _tell_import(done: Imported) -> None:
    from proctor.reports.datasets import difference_line

    tell_made(done)
    if done.difference is not None:
        show(difference_line(done.difference))
    for problem in done.problems[:PROBLEMS]:
        err().print(f"left out: {problem}", style="yellow", soft_wrap=True)
    if done.left_out > PROBLEMS:
        err().print(f"left out: {done.left_out - PROBLEMS:,} more", style="yellow")
