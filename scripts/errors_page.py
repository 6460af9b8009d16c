"""Writes docs/reference/errors.md from the error catalogue: ``.venv/bin/python scripts/errors_page.py``."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import proctor
from proctor.kernel.errors import ProctorError, catalogue

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "errors.md"

PROGRAMS: tuple[str, ...] = ("migrations", "keeper", "__main__", "harbor.inside")
"""Modules that are run, not imported, and the one that needs Harbor."""

HEAD = """# Exit codes and errors

Every command ends with one of these:

| code | meaning |
|---|---|
| 0 | done, and the gate (if there is one) is met |
| 1 | the gate is missed; `task try`: a solution is not as it should be; `suite check`: a task is refused; \
`audit`: something is not as it should be |
| 2 | usage: the command or a file says something that can't be done |
| 3 | gaps remain: cells without a verdict, malformed tasks, tasks not decided by `suite check`, \
imported attempts that are not linked; or an open gate |
| 4 | the run set is paused, by hand or because a budget is used up |
| 5 | our own fault, or the machine's |
| 130 | interrupted; what to type to go on is printed |

With `--json` every error, a fault of our own too, is `{"error": {"code", "message", "where", "remedy"}}` on standard
output. Codes are stable and never reused.

| code | exit | what happened | what to do |
|---|---|---|---|
"""


def load_everything() -> None:
    """Import every module of the package, so that the catalogue is whole."""
    for module in pkgutil.walk_packages(proctor.__path__, "proctor."):
        if not any(part in module.name for part in PROGRAMS):
            importlib.import_module(module.name)


def page() -> str:
    """The page's text."""
    load_everything()
    return HEAD + "".join(
        _row(code, kind) for code, kind in catalogue().items() if kind.__module__.startswith("proctor")
    )


def _row(code: str, kind: type[ProctorError]) -> str:
    what = (kind.__doc__ or "").strip().splitlines()[0]
    return f"| `{code}` | {kind.exit_code} | {what} | {kind.remedy} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
