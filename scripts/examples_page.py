"""Writes docs/reference/example-tasks.md from the tasks' own files: ``.venv/bin/python scripts/examples_page.py``."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "example-tasks.md"
SUITE = ROOT / "examples" / "workshop"
LEVELS: tuple[str, ...] = ("easy", "medium", "hard")

HEAD = """# The example tasks

`examples/workshop` is a suite of {count} tasks of our own: {levels}. They need no network, no packages and no
container: bash, git, make, Python 3 and what Debian's base system has. Each has a reference solution that passes and a
wrong one, such as a person in a hurry writes, that doesn't. `make certify` certifies all of them; CI those that fit
into its time, drawn anew each time, and it names the others.

    proctor suite import examples/workshop --label workshop
    proctor suite check workshop

| folder | what is in it |
|---|---|
| `examples/workshop` | all {count}; those of the other two folders by links |
| `examples/basics` | the eight that `make demo` uses |
| `examples/steps` | two with steps |

**Level** is `difficulty` in `[metadata]`; **minutes** is what someone who knows the field would need. **Needed** is the
`pass_threshold`: most tasks report the share of their checks as `reward`, and are passed with all of them.

| task | level | minutes | what is asked | tests | steps | needed |
|---|---|---|---|---|---|---|
"""


class Row(NamedTuple):
    """A task, as the table shows it."""

    folder: Path
    level: str
    minutes: int
    about: str
    keywords: str
    steps: str
    needed: float

    def line(self) -> str:
        """Its line of the table. Links lead to the real folder, since code hosts show a link to a folder as a file."""
        where = f"../../{self.folder.resolve().relative_to(ROOT)}"
        cells = (self.level, self.minutes, self.about, self.keywords, self.steps or "—", f"{self.needed:g}")
        return f"| [{self.folder.name}]({where}) | {' | '.join(map(str, cells))} |\n"


def rows() -> Iterator[Row]:
    """Every task of the suite, the easy ones first."""
    found = [_row(path.parent) for path in SUITE.glob("*/task.toml")]
    return iter(sorted(found, key=lambda row: (LEVELS.index(row.level), row.folder.name)))


def _row(folder: Path) -> Row:
    document = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    task, metadata = document["task"], document["metadata"]
    return Row(
        folder=folder,
        level=metadata["difficulty"],
        minutes=metadata["expert_time_estimate_min"],
        about=task["description"],
        keywords=", ".join(task["keywords"]),
        steps=", ".join(step["name"] for step in document.get("steps", ())),
        needed=metadata["proctor"].get("pass_threshold", 1.0),
    )


def page() -> str:
    """The page's text."""
    found = list(rows())
    counts = Counter(row.level for row in found)
    levels = ", ".join(f"{counts[level]} {level}" for level in LEVELS)
    return HEAD.format(count=len(found), levels=levels) + "".join(row.line() for row in found)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
