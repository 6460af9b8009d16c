"""A platform of its own for a benchmark: a fresh embedded server in a temporary folder, the fake sandbox."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.app import Platform, open_platform
from proctor.settings import Settings

__all__ = ["fresh_platform", "write_tasks"]

TASK = """schema_version = "1.4"
[agent]
timeout_sec = 30
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "snapshot"
"""


@contextmanager
def fresh_platform() -> Iterator[tuple[Platform, Path]]:
    """A platform whose folder is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-bench-"))
    try:
        with open_platform(Settings(home=folder / "home", tenant="bench")) as platform:
            yield platform, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_tasks(folder: Path, count: int) -> Path:
    """Small tasks with a verifier that the fake sandbox answers."""
    for number in range(count):
        task = folder / f"task-{number:03d}"
        (task / "tests").mkdir(parents=True)
        (task / "task.toml").write_text(TASK)
        (task / "instruction.md").write_text(f"Do {number}.\n")
        (task / "tests" / "test.sh").write_text("#!/bin/bash\n")
    return folder
