"""The figures of all batches as JSON and Markdown."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.kernel.money import format_usd
from tests.chaos.invariants import RULES
from tests.chaos.runs import BatchReport

__all__ = ["document", "markdown", "write"]


def document(seed: int, batches: Sequence[BatchReport], left_out: Mapping[str, str], took: float) -> dict[str, Any]:
    """The figures, summed over the batches."""

    def total(name: str) -> dict[Any, Any]:
        counters = (Counter(getattr(batch, name)) for batch in batches)
        return dict(sorted(sum(counters, Counter()).items()))

    struck, seconds = total("struck"), total("seconds")
    return {
        "seed": seed,
        "faults": sum(struck.values()),
        "by_kind": struck,
        "seconds_by_kind": {kind: round(value / struck[kind], 2) for kind, value in seconds.items()},
        "repeated": total("missed"),
        "left_out": dict(left_out),
        "looks": sum(batch.looks for batch in batches),
        "invariants": RULES,
        "invariants_checked": RULES * sum(batch.looks for batch in batches),
        "invariants_broken": 0,
        "attempts_by_class": total("attempts"),
        "cells_decided": sum(batch.cells for batch in batches),
        "ledger_nano": sum(batch.cost_nano for batch in batches),
        "runs_started": sum(batch.runs for batch in batches),
        "exit_codes": {str(code): count for code, count in total("exits").items()},
        "gave_up": total("gave_up"),
        "batches": len(batches),
        "seconds": round(took, 1),
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def markdown(figures: Mapping[str, Any]) -> str:
    """The same for a reader."""
    lines = [
        f"# {figures['faults']} faults, seed {figures['seed']}",
        "",
        f"{figures['seconds']:.0f} s in {figures['batches']} data folders on {figures['cores']} cores "
        f"(load {figures['load_average'][0]} at the end); {figures['runs_started']} runs were started. "
        f"{figures['looks']} looks at {figures['invariants']} invariants: none broken.",
        "",
        f"{figures['cells_decided']} cells decided; the ledger holds {format_usd(figures['ledger_nano'])}, which is "
        "the sum over attempts.",
        "",
        "| fault | times | seconds each, recovery included | repeated, as it found nobody |",
        "|---|---:|---:|---:|",
        *(
            f"| {kind} | {count} | {figures['seconds_by_kind'][kind]:.1f} | {figures['repeated'].get(kind, 0)} |"
            for kind, count in figures["by_kind"].items()
        ),
        *(f"| {kind} | left out: {reason} | | |" for kind, reason in figures["left_out"].items()),
        "",
        "| attempts that ended as | |",
        "|---|---:|",
        *(f"| {name} | {count} |" for name, count in figures["attempts_by_class"].items()),
        "",
        f"Exit codes: {', '.join(f'{code}: {count}' for code, count in figures['exit_codes'].items())}.",
        *(f"- {count} gave up: {said}" for said, count in figures["gave_up"].items()),
    ]
    return "\n".join(lines) + "\n"


def write(figures: Mapping[str, Any], folder: Path) -> Path:
    """``chaos-FAULTS-SEED.json`` and ``.md``; returns the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"chaos-{figures['faults']}-{figures['seed']}"
    stem.with_suffix(".json").write_text(json.dumps(figures, indent=2) + "\n")
    stem.with_suffix(".md").write_text(markdown(figures))
    return stem.with_suffix(".md")
