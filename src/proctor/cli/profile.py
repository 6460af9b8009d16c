"""``proctor profile list|show``."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.output import AsJson, client, print_json, show, told

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Agents of this installation, and the profiles of run sets.")


@app.command("list")
def list_profiles(
    run_set: Annotated[str | None, typer.Argument(help="A run set, for its profiles; without, the agents.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the agents there are, or a run set's profiles."""
    if run_set is None:
        with told(as_json=as_json):
            _agents(as_json=as_json)
        return
    with client(as_json=as_json) as opened:
        rows = opened.profiles(run_set)
        if as_json:
            print_json({"profiles": rows})
            return
        from proctor.reports.tables import profiles_table

        show(profiles_table(rows))


@app.command("show")
def show_profile(
    profile: Annotated[str, typer.Argument(help="A profile's name.")],
    run_set: Annotated[str | None, typer.Option(help="Of which run set; the newest without.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a profile's configuration hash is taken over."""
    with client(as_json=as_json) as opened:
        rows = [row for row in opened.profiles(run_set) if row["name"] == profile]
        if not rows:
            raise typer.BadParameter(f"that run set has no profile {profile!r}", param_hint="PROFILE")
        print_json({"name": profile, "configuration": rows[0]["configuration"], "document": rows[0]["document"]})


def _agents(*, as_json: bool) -> None:
    from proctor.agents.catalogue import AGENTS

    if as_json:
        print_json({"agents": AGENTS})
        return
    from proctor.reports.tables import table

    made = table("agent", "what it does", "needs", "reports")
    for kind in AGENTS:
        made.add_row(kind.name, kind.summary, kind.needs or "nothing", kind.reports)
    show(made)
