"""``proctor prompts add|list|show``: versions of prompts, which targets of evaluation jobs name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, print_json, show

if TYPE_CHECKING:
    from proctor.jobs.prompts import PromptVersion

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Prompts in versions, for targets of evaluation jobs to name.")


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List all versions by name, the newest of each first."""
    with client(as_json=as_json) as opened:
        rows = opened.prompts.all()
        if as_json:
            print_json({"prompts": rows})
            return
        from proctor.reports.jobs import prompts_table

        show(prompts_table(rows))


@app.command("show")
def show_one(
    prompt: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="NAME is the newest version.")],
    as_json: AsJson = False,
) -> None:
    """Show a version with its texts."""
    with client(as_json=as_json) as opened:
        found = opened.prompts.show(prompt)
        print_json(found) if as_json else _tell(found)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Whose next version it is.")],
    prompt: Annotated[
        Path, typer.Option(metavar="FILE", help="Its text; {{input}}, {{id}}, {{metadata.NAME}} are of the example.")
    ],
    system: Annotated[Path | None, typer.Option(metavar="FILE", help="The text before it.")] = None,
    description: Annotated[str, typer.Option(help="What is different in it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Keep a version of a prompt. The same texts again are the version that is there."""
    with client(as_json=as_json) as opened:
        from proctor.jobs.prompts import NewPrompt, read_text

        texts = {"prompt": read_text(prompt), "system": "" if system is None else read_text(system)}
        made, new = opened.prompts.add(NewPrompt(name=name, description=description, **texts))
        print_json({"prompt": made, "new": new}) if as_json else _tell(made)


def _tell(found: PromptVersion) -> None:
    row = found.row
    show(f"{row.reference}: {row.description or 'no description'}, digest {row.digest}")
    for title, text in (("system", found.system), ("prompt", found.prompt)):
        if text:
            show(f"{title}:", *(f"  {line}" for line in text.splitlines()))
