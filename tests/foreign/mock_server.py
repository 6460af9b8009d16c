"""The mock provider as a program of its own, for clients that live in other environments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["KEY", "mock_server"]

KEY: str = "a-key-of-the-test"


@contextmanager
def mock_server(folder: Path, script: str) -> Iterator[str]:
    """Its address, while it is entered; it takes ``KEY`` alone."""
    path = folder / "script.toml"
    path.write_text(script, encoding="utf-8")
    command = [sys.executable, "-m", "proctor.models.mock", "--script", str(path), "--key", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
