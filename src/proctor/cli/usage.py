"""``proctor usage``, ``quota``, ``budget`` and ``tenant quota``: what a tenant used, what it may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.identity import tenants
from proctor.cli.output import AsJson, client, print_json, remote, show
from proctor.cli.times import moment

if TYPE_CHECKING:
    from proctor.identity.quotas import Quota
    from proctor.sdk.usage import Allowance, Apart, UsageReport

__all__ = ["register"]

_NONE = "none"
_GIGABYTE = 1_000_000_000
Since = Annotated[str | None, typer.Option(help="30d ago, or from a time such as 2026-07-01; 30 days without.")]
Until = Annotated[str | None, typer.Option(help="The same, to before it; now without.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(usage)
    app.command()(quota)
    app.command()(budget)
    tenants.command("usage")(tenant_usage)
    tenants.command("quota")(tenant_quota)


def usage(
    by: Annotated[str, typer.Option(help="run_set, profile, model, user or tenant.")] = "run_set",
    since: Since = None,
    until: Until = None,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show attempts, sandbox hours and cost of a time, the dearest first."""
    with client(as_json=as_json) as opened:
        _tell_report(
            opened.usage.report(_apart(by), since=moment(since, "--since"), until=moment(until, "--until")),
            csv=csv,
            as_json=as_json,
        )


def _tell_report(report: UsageReport, *, csv: bool, as_json: bool) -> None:
    from proctor.engine.usage import UsageRow
    from proctor.sdk.usage import as_csv

    if as_json:
        print_json(report)
    elif csv:
        typer.echo(as_csv(UsageRow, report.rows), nl=False)
    else:
        _tell_usage(report)


def _apart(name: str) -> Apart:
    from proctor.sdk.usage import Apart

    word = name.replace("-", "_")
    if word not in set(Apart):
        raise typer.BadParameter(f"there are {', '.join(Apart)}", param_hint="--by")
    return Apart(word)


def _tell_usage(report: UsageReport) -> None:
    from proctor.reports.tables import usage_table

    span = f"{report.since:%Y-%m-%d %H:%M} to {report.until:%Y-%m-%d %H:%M} UTC"
    name = report.by.value.replace("_", " ")
    show(usage_table(name, report.rows) if report.rows else "No attempts.", f"Attempts begun from {span}.")


def quota(as_json: AsJson = False) -> None:
    """Show what the tenant may use, and how far it is. Over a quota its work is served after the others'."""
    with remote(as_json=as_json) as server:
        allowance = server.usage.allowance()
        print_json(allowance) if as_json else _tell_allowance(allowance)


def _tell_allowance(told: Allowance) -> None:
    from proctor.kernel.money import exact_usd
    from proctor.reports.formats import cost_sum
    from proctor.reports.tables import table

    most, used = told.quota, told.used
    spent = cost_sum(used.cost_month_nano, known=1, of=1 + told.uncounted)
    stored = "not measured yet" if told.stored_bytes is None else f"{told.stored_bytes:,} bytes"
    rows = {
        "evaluations a day": (f"{used.evaluations_today:,}", most.evaluations_per_day, "evaluations_per_day"),
        "cost a month": (spent, most.cost_month_nano, "cost_month_nano"),
        "storage, bytes": (stored, most.storage_bytes, "storage_bytes"),
        "sandboxes at once": (f"{used.sandboxes:,}", most.sandboxes, "sandboxes"),
        "budget a month": (spent, most.budget_month_nano, "budget_month_nano"),
    }
    made = table("quota", "used", "at the most", "", right=("used", "at the most"))
    for name, (now, limit, field) in rows.items():
        money = field.endswith("_nano")
        shown = "no limit" if limit is None else exact_usd(limit) if money else f"{limit:,}"
        made.add_row(name, now, shown, "over" if field in told.over else "")
    show(made)


def budget(
    amount: Annotated[str | None, typer.Argument(help=f"Dollars a month such as 250; '{_NONE}' takes it away.")] = None,
    user: Annotated[str | None, typer.Option(help="A user's instead of the tenant's: a name, or an id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set what the tenant, or one user, spends in a month (UTC) at the most.

    When the tenant's is used up, its run sets pause; calls of models beyond either are refused.
    """
    with remote(as_json=as_json) as server:
        from proctor.kernel.money import exact_usd, parse_usd
        from proctor.sdk.remote.identity import IdentityClient

        change = None if amount is None else (_limit(amount, "AMOUNT", parse_usd),)
        if user is not None:
            whose = IdentityClient(server.transport).user(user)
            usage = server.usage
            made = usage.set_user_budget(whose.id, *change) if change else usage.user_budget(whose.id)
            told, most = {"user": made.name, "month_nano": made.month_nano}, made.month_nano
        else:
            quota = server.usage.set_budget(*change) if change else server.usage.allowance().quota
            told, most = {"budget_month_nano": quota.budget_month_nano}, quota.budget_month_nano
        print_json(told) if as_json else show("No budget." if most is None else f"{exact_usd(most)} a month.")


def tenant_usage(
    since: Since = None,
    until: Until = None,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what each tenant used in a time, the dearest first, as an administrator of the installation."""
    with remote(as_json=as_json) as server:
        _tell_report(
            server.usage.of_tenants(since=moment(since, "--since"), until=moment(until, "--until")),
            csv=csv,
            as_json=as_json,
        )


def tenant_quota(
    name: Annotated[str, typer.Argument(help="A tenant.")],
    evaluations: Annotated[str | None, typer.Option(metavar="N|none", help="Attempts a day (UTC).")] = None,
    cost: Annotated[str | None, typer.Option(metavar="USD|none", help="Dollars a month (UTC).")] = None,
    storage_gb: Annotated[str | None, typer.Option(metavar="N|none", help="Gigabytes of its objects.")] = None,
    sandboxes: Annotated[str | None, typer.Option(metavar="N|none", help="Attempts at once.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set a tenant's quotas, as an administrator of the installation; what is not named stays as it is.

    Over a quota a tenant's work is served after everybody else's, and never lost.
    """
    with remote(as_json=as_json) as server:
        from dataclasses import replace

        from proctor.kernel.money import parse_usd

        given: tuple[tuple[str, str | None, str, Callable[[str], int]], ...] = (
            ("evaluations_per_day", evaluations, "--evaluations", _whole),
            ("cost_month_nano", cost, "--cost", parse_usd),
            ("storage_bytes", storage_gb, "--storage-gb", lambda text: _whole(text) * _GIGABYTE),
            ("sandboxes", sandboxes, "--sandboxes", _whole),
        )
        changed = {field: _limit(text, option, read) for field, text, option, read in given if text is not None}
        made = server.usage.quota(name)
        if changed:
            made = server.usage.set_quota(name, replace(made, **changed))
        print_json(made) if as_json else show(f"{name}: {_words(made)}")


def _limit(text: str, where: str, read: Callable[[str], int]) -> int | None:
    """A limit, or that there is to be none."""
    if text == _NONE:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=where) from error


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no whole number, nor {_NONE!r}")
    return int(text)


def _words(made: Quota) -> str:
    from proctor.kernel.money import exact_usd
    from proctor.kernel.words import counted

    parts = [
        None if made.evaluations_per_day is None else f"{counted(made.evaluations_per_day, 'evaluation')} a day",
        None if made.cost_month_nano is None else f"{exact_usd(made.cost_month_nano)} a month",
        None if made.storage_bytes is None else f"{made.storage_bytes:,} bytes",
        None if made.sandboxes is None else f"{made.sandboxes:,} at once in sandboxes",
    ]
    return " · ".join(filter(None, parts)) or "no limits"
