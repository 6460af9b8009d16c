"""Writes requirements/*.lock: every package pinned with its hashes, resolved from pyproject.toml."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def resolve(requirements: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Names with version and sha256 of every artifact pip chose, for this Python and platform."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--dry-run",
                "--ignore-installed",
                "--report",
                report,
                *requirements,
            ],
            check=True,
        )
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        item["metadata"]["name"]: (item["metadata"]["version"], item["download_info"]["archive_info"]["hashes"])
        for item in found
    }


def write(name: str, requirements: list[str]) -> None:
    """One lock file. Versions only: hashes differ by Python version and the core runs on several."""
    lines = [f"{package}=={version}" for package, (version, _) in sorted(resolve(requirements).items())]
    head = "# Written by `make lock`; do not edit. Every package of the install, pinned.\n"
    (ROOT / "requirements" / f"{name}.lock").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Lock the core, then the core with the development tools."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    core = document["project"]["dependencies"]
    build = document["build-system"]["requires"]
    write("core", core + build)
    write("dev", core + build + document["dependency-groups"]["dev"])


if __name__ == "__main__":
    main()
