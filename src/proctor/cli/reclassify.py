"""``proctor reclassify``: derive outcomes again from stored evidence under another policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, counting, err, print_json, show

if TYPE_CHECKING:
    from proctor.sdk.reclassifications import Reclassification

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reclassify)


def reclassify(
    policy: Annotated[Path, typer.Option(metavar="FILE", help="An outcome policy file.")],
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; the newest without.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Let the run set count by it, without being asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what another outcome policy makes of a run set's evidence, and once confirmed let it count by it.

    Nothing is run. Cells that lose their verdict are owed again and queued; leaderboard revisions of before stay.
    """
    from proctor.kernel.words import counted

    with client(as_json=as_json) as opened:
        done = opened.reclassify(run_set, policy, on_page=counting("cell", "classified", quiet=as_json))
        if not as_json:
            _tell(done)
        moved = yes or (not as_json and _confirmed(done))
        owed = opened.move_pin(done) if moved else None
        if as_json:
            print_json({"reclassification": done, "pinned": moved, "owed": owed})
            return
    if owed is None:
        show("Nothing was changed. To let it count: --yes")
    else:
        show(f"{done.run_set.name} counts by {done.after} now; {counted(owed, 'cell')} owed")
    if owed and not done.imported:
        show(f"To run them: proctor resume {done.run_set.name}")


def _tell(done: Reclassification) -> None:
    from proctor.reports.tables import moves_table, rates_change_table

    show(f"{done.run_set.name}: what {done.before} said, and what {done.after} says")
    show(moves_table(done.moves) if done.moves else "No cell is in another class, or has another verdict or owner.")
    show(rates_change_table(done.rates_before, done.rates_after))


def _confirmed(done: Reclassification) -> bool:
    if not err().is_terminal:
        return False
    return typer.confirm(f"Let {done.run_set.name} count by {done.after}?", err=True)
