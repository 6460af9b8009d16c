"""``proctor ledger``: the calls of models that were made, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from proctor.cli.output import AsJson, client, print_json, show

if TYPE_CHECKING:
    from proctor.models.calls import End
    from proctor.models.spending.reading import CallRow

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ledger)


def ledger(
    run_set: Annotated[str | None, typer.Option(help="Only of this run set: a name, or an id.")] = None,
    attempt: Annotated[str | None, typer.Option(help="Only of this attempt.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this model, as it was asked for.")] = None,
    end: Annotated[str | None, typer.Option(help="Only those that ended so, such as done or abandoned.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show calls of models, the newest first: who paid, which model, how it ended, what it cost."""
    with client(as_json=as_json) as opened:
        from proctor.models.spending.reading import CallsWanted

        wanted = CallsWanted(
            run_set=None if run_set is None else opened.find(run_set).id,
            attempt=None if attempt is None else UUID(str(opened.attempt(attempt).attempt["id"])),
            model=model,
            end=None if end is None else _end(end),
        )
        found = opened.usage.ledger(wanted, limit=limit)
        print_json({"calls": found}) if as_json else _tell(found)


def _end(word: str) -> End:
    from proctor.models.calls import End

    if word not in set(End):
        raise typer.BadParameter(f"there are {', '.join(End)}", param_hint="--end")
    return End(word)


def _tell(rows: Sequence[CallRow]) -> None:
    from proctor.reports.tables import table

    numbers = ("in", "out", "cost, USD", "reserved")
    made = table("when", "paid by", "model", "answered", "end", *numbers, right=numbers)
    for row in rows:
        paid_by = row.profile or row.user_id[:8] or row.purpose
        read = _sum(row.input_tokens, row.cache_read_tokens, row.cache_write_tokens)
        written = _sum(row.output_tokens, row.reasoning_tokens)
        cost = f"{_usd(row.cost_nano)}{' overrun' if row.overrun else ''}"
        when = f"{row.started_at:%Y-%m-%d %H:%M:%S}"
        made.add_row(when, paid_by, row.model, row.answered, row.ended_as, read, written, cost, _usd(row.reserved_nano))
    show(made if rows else "No calls.")


def _sum(*buckets: int | None) -> str:
    """Of what is known; a dash where nothing is."""
    known = [tokens for tokens in buckets if tokens is not None]
    return f"{sum(known):,}" if known else "—"


def _usd(nano: int | None) -> str:
    """To the micro-dollar: most calls cost less than a cent."""
    return "—" if nano is None else f"{nano // 1_000_000_000}.{nano // 1000 % 1_000_000:06d}"
