"""``proctor gc`` removes what nobody will ask for again, and nothing that anybody may."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = [pytest.mark.commands, pytest.mark.slow]

WEEK_SEC = 8 * 86_400
STRANGER = "00000000-0000-4000-8000-000000000000"


def aged(path: Path, text: bytes = b"left") -> Path:
    """An object that was stored more than a week ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(text)
    os.utime(path, (time.time() - WEEK_SEC,) * 2)
    return path


def swept(cli: Cli, *arguments: str) -> dict[str, Any]:
    told = cli.json("gc", *arguments)
    kinds = {one["kind"]: (one["count"], one["size"]) for one in told["kinds"]}
    return {**kinds, "unknown": (told["unknown"]["count"], told["unknown"]["size"])}


def test_only_what_no_row_names_and_is_old_is_removed(cli: Cli) -> None:
    cli("run", str(ROOT / "examples" / "basics"), "--agent", "oracle,noop")
    cli.write("rows.jsonl", '{"input": "x"}\n')
    cli("dataset", "import", "rows.jsonl", "--name", "kept")
    (tenant,) = (cli.home / "objects").iterdir()
    own = sorted(path for path in tenant.rglob("*") if path.is_file())
    assert {path.relative_to(tenant).parts[0] for path in own} == {
        "states",
        "tasks",
        "attempts",
        "trajectories",
        "logs",
        "datasets",
    }
    for path in own:
        aged(path)  # of log lines 30 days are kept
    left = [
        aged(tenant / "states" / f"{'0' * 64}.tar"),
        aged(tenant / "tasks" / f"{'1' * 64}.tar"),
        aged(tenant / "pushed" / ("2" * 64)),
        aged(tenant / "trajectories" / f"{STRANGER}.json"),
        aged(tenant / "attempts" / STRANGER / "log" / "000001.jsonl"),
        aged(tenant / "operations" / STRANGER / "upload.tar", b"larger"),
        aged(tenant / "datasets" / STRANGER / "00000.parquet"),
    ]
    old_lines = aged(tenant / "logs" / "2026-01-01" / "10" / "30-0123-000001.jsonl")
    os.utime(old_lines, (time.time() - 31 * 86_400,) * 2)
    left.append(old_lines)
    fresh = tenant / "states" / f"{'3' * 64}.tar"
    fresh.write_bytes(b"of an attempt that is not recorded yet")
    unknown = aged(tenant / "somebody" / "elses")

    kinds = ("states", "tasks", "pushed", "attempts", "trajectories", "logs", "datasets")
    expected = {f"objects of {kind}": (1, 4) for kind in kinds}
    expected |= {"objects of operations": (1, 6), "unknown": (1, 4)}
    told = swept(cli, "--dry-run")
    assert {name: told[name] for name in expected} == expected
    assert all(path.exists() for path in [*own, *left])

    assert swept(cli) == told
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in [*own, fresh, unknown])
    assert cli.json("audit", "basics", "--checksums")["findings"] == 0
    again = swept(cli)
    assert again["unknown"] == (1, 4)
    assert {count for name, (count, _) in again.items() if name.startswith("objects")} == {0}
    assert "Left alone: 1 objects of no known kind, 4 bytes." in cli("gc", "--dry-run").stdout
