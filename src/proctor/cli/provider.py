"""``proctor provider list``: the providers of models that are known, and which of their keys are set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from proctor.cli.output import AsJson, installed, print_json, show

if TYPE_CHECKING:
    from proctor.sdk.providers import ProviderLine

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="The providers of models that are known.")


@app.callback()
def group() -> None:
    """The providers of models that are known."""


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List providers: how each is reached, what a key of it bears, and which keys are set.

    A key of this machine's own is a variable of the environment, a server's is a secret of the tenant. Other providers
    are added in the file that docs/reference/providers.md describes.
    """
    with installed(as_json=as_json) as asked:
        lines = asked.providers()
        if as_json:
            print_json({"providers": lines})
            return
        from proctor.reports.tables import table

        numbers = ("requests/min", "tokens/min", "at once")
        made = table("provider", "reached", "wires", "keys", *numbers, right=numbers)
        for line in lines:
            bears = (line.requests_per_minute, line.tokens_per_minute, line.concurrency)
            told = ("—" if most is None else f"{most:,}" for most in bears)
            made.add_row(line.name, _reached(line), ", ".join(line.wires), _keys(line), *told)
        show(made)


def _reached(line: ProviderLine) -> str:
    if line.reached == "process":
        return "in the process"
    return " ".join(filter(None, ("through litellm" if line.reached == "litellm" else "", line.address)))


def _keys(line: ProviderLine) -> str:
    if not line.keys:
        return "none needed"
    return ", ".join(f"{key} ({'set' if key in line.keys_set else 'not set'})" for key in line.keys)
