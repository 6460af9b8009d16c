"""Our own faults: a short word on the screen, the traceback in a file that a person may send us."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

import typer

from proctor.cli.terminal import calm

__all__ = ["own_fault"]


def own_fault(error: Exception) -> int:
    """Write the traceback to a file, say where, and give the exit code."""
    report = Path(tempfile.mkstemp(prefix="proctor-fault-", suffix=".txt")[1])
    report.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    typer.echo(f"error [own-fault] {type(error).__name__}: {calm(str(error))}", err=True)
    typer.echo(f"  This is a fault of Proctor. Its details are in {report}; please report it.", err=True)
    return 5
