"""An import of far more than it may hold, in a process that may hold little: it streams, or it dies here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROWS, CHARACTERS = 120_000, 6_500
"""780 MB of input."""
ROOM: int = 350 << 20
"""Of address space beyond what the libraries take, most of which is DuckDB's own limit and one row group, twice."""
PROGRAM = """
import resource, sys
from pathlib import Path
import duckdb, pyarrow as pa, pyarrow.parquet
from proctor.datasets.fields import Fields
from proctor.datasets.formats.catalogue import Format, rows_of
from proctor.datasets.staging import files_of, stage
from proctor.datasets.workbench import workbench

folder = Path(sys.argv[1])
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
(folder / "work").mkdir()
staged = stage(
    rows_of(folder / "rows.jsonl", Format.JSONL),
    Fields(),
    folder / "work",
    where="rows",
    skip=False,
    on_rows=lambda _: None,
)
with workbench(folder / "work") as asked:
    files = files_of(staged.written)
    print(staged.written.rows, list(asked.rows("counted_changes", before=files.names, after=files.names)))
"""


def test_an_import_streams(tmp_path: Path) -> None:
    filling = "x" * CHARACTERS
    with (tmp_path / "rows.jsonl").open("w") as file:
        for number in range(ROWS):
            file.write(json.dumps({"id": f"example-{number}", "input": f"{number} {filling}"}) + "\n")
    assert (tmp_path / "rows.jsonl").stat().st_size > 2 * ROOM
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), str(ROOM)],
        env={"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == f"{ROWS} [(0, 0, 0, {ROWS})]\n"
