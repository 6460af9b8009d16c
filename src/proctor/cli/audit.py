"""``proctor audit`` and ``proctor import``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, client, counting, print_json, show

if TYPE_CHECKING:
    from proctor.sdk.audits import AuditReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(audit)
    app.command("import")(import_results)


def audit(
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; all without.")] = None,
    rules: Annotated[Path | None, typer.Option(metavar="FILE", help="Names that are declared to mean others.")] = None,
    profiles: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A list of profiles kept elsewhere, to be compared.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Repair what is found.")] = False,
    checksums: Annotated[bool, typer.Option("--checksums", help="Also read and hash every object.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reconcile what is stored with the table of expected cells. Repairs only with --apply, and says what it changed.

    Exit codes: 0 all is as it should be (with --apply: now), 1 something is not: it can be repaired with --apply, or it
    stands until a person mends it, such as a name that nothing explains.
    """
    from proctor.engine.auditing import read_rules
    from proctor.sdk.audits import AuditRequest

    with client(as_json=as_json) as opened:
        request = AuditRequest(
            run_set=run_set,
            rules=read_rules(rules),
            rules_file=str(rules),
            profile_list=profiles,
            apply=apply,
            checksums=checksums,
        )
        report = opened.audit(request)
        numbers = {"findings": report.findings, "repairable": report.repairable, "standing": report.standing}
        print_json({**numbers, "audit": report}) if as_json else _tell(report)
    if report.standing if apply else report.findings:
        raise typer.Exit(ExitCode.GATE_MISSED)


def _tell(report: AuditReport) -> None:
    from proctor.reports.audits import audit_lines

    show(*audit_lines(report))


def import_results(
    folder: Annotated[Path, typer.Argument(help="A folder with results.toml and attempts.jsonl.")],
    as_json: AsJson = False,
) -> None:
    """Import results that others made, as a run set of their own. They are never taken for results of ours.

    Attempts whose names do not resolve are kept outside every number; `proctor audit` tells about them. Exit codes: 0
    done, 3 some are not linked.
    """
    with client(as_json=as_json) as opened:
        report = opened.import_results(folder, on_page=counting("attempt", "read", quiet=as_json))
        if as_json:
            print_json(report)
        else:
            show(f"{report.run_set}: {report.expected:,} cells expected, {report.linked:,} attempts linked")
    if report.unlinked:
        if not as_json:
            show(f"{report.unlinked:,} attempts are not linked: proctor audit {report.run_set}")
        raise typer.Exit(ExitCode.GAPS)
