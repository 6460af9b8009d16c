"""``proctor agents`` and ``proctor agents prepare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, err, installed, out, print_json, show, told

if TYPE_CHECKING:
    from proctor.sdk.agents import AgentLine

__all__ = ["app"]

app = typer.Typer(invoke_without_command=True, help="The agents there are, and whether they are on the machine.")


@app.callback()
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """The agents there are: version, where from, keys needed, what each reports, and whether it is on this machine.

    On a server: on the server's machine.
    """
    if context.invoked_subcommand is not None:
        return
    with installed(as_json=as_json) as asked:
        lines = asked.agents()
        if as_json:
            print_json({"agents": lines})
            return
        from proctor.reports.tables import table

        made = table("agent", "version", "from", "a key of", "reports", "here")
        for line in lines:
            keys = "its model's provider" if line.any_model else " or ".join(line.keys) or "none"
            made.add_row(line.name, line.version, line.installed_from or "Proctor", keys, line.reports, _here(line))
        show(made)


@app.command("prepare")
def prepare(
    agent: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="Such as codex, or codex@latest.")],
    as_json: AsJson = False,
) -> None:
    """Bring an agent's programs to this machine now, and not when its first attempt starts."""
    from proctor.app import layer_store
    from proctor.sdk.agents import prepare_agent
    from proctor.settings import Settings

    with told(as_json=as_json):
        done = prepare_agent(agent, layer_store(Settings()), err().print)
        if as_json:
            print_json({"prepared": done})
            return
        out().print(f"{done.name} {done.version} is here{'' if done.new else ' already'}")


def _here(line: AgentLine) -> str:
    if line.obstacle:
        return line.obstacle
    return {None: "yes", True: "yes", False: "not yet"}[line.prepared]
