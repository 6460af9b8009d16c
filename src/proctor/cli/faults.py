"""Our own faults: a short word on the screen, the traceback in a file that a person may send us."""

from __future__ import annotations

import json
import tempfile
import traceback
from pathlib import Path

import typer

from proctor.cli.terminal import calm

__all__ = ["own_fault"]


def own_fault(error: Exception, *, as_json: bool) -> int:
    """Write the traceback to a file, say where, and give the exit code. As JSON it is told like every other error."""
    from proctor.kernel.errors import OwnFault

    remedy = "This is a fault of Proctor; please report it."
    report = _report(error)
    if report is not None:
        remedy = f"This is a fault of Proctor. Its details are in {report}; please report it."
    message = f"{type(error).__name__}: {calm(str(error))}"
    if as_json:
        told = OwnFault(message, remedy=remedy)
        typer.echo(json.dumps({"error": told.as_dict()}, indent=2))
        return told.exit_code
    typer.echo(f"error [{OwnFault.code}] {message}", err=True)
    typer.echo(f"  {remedy}", err=True)
    return OwnFault.exit_code


def _report(error: Exception) -> Path | None:
    """The traceback in a file; ``None`` where not even that can be written, as on a full disk."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="proctor-fault-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(traceback.format_exception(error))
    except OSError:
        return None
    return Path(name)
