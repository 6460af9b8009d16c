"""Judges the second step: three commits over Ann's, each with the functions and the check that belong to it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from cases import ANN, MAIN, NOTES, RESCUED, clean, functions, git, says_ok
from scoring import score

TIPS = ["main~2", "main~1", "main"]
ROUNDED = {"celsius": [(212, 100), (100, 37.8), (50, 10)], "fahrenheit": [(100, 212), (37.77, 100), (0.03, 32.1)]}
KELVIN = {"kelvin": [(-273.15, 0), (26.85, 300), (1.23, 274.4)]}


def commits():
    wanted = [
        ("Convert to fahrenheit", "Dana dana@example.com 1773136800"),
        ("Convert kelvin as well", "Dana dana@example.com 1773655200"),
    ]
    told = [tuple(git("log", "-1", "--format=%s%x00%an %ae %at", tip).split("\0")) for tip in TIPS]
    return told[:2] == wanted and told[2][0] == "Add notes"


def on_top():
    lines = [line.split() for line in git("rev-list", "--parents", f"{MAIN}..main").splitlines()]
    return len(lines) == 4 and all(len(line) == 2 for line in lines) and git("rev-parse", "main~3") == ANN


def notes():
    changed = git("diff", "--name-status", "main~1", "main").split() == ["A", "NOTES.md"]
    return changed and git("show", "main:NOTES.md") == NOTES.strip()


def nothing_of_the_debugging():
    files = [set(git("ls-tree", "-r", "--name-only", tip).split()) for tip in TIPS]
    base = {"README.md", "check.py", "convert.py"}
    texts = [git("show", f"{tip}:convert.py") for tip in TIPS]
    return files == [base, base, base | {"NOTES.md"}] and not any("DEBUG" in text or "print" in text for text in texts)


def constants():
    return all(["\nFREEZING = 32\n" in git("show", f"{tip}:convert.py") for tip in TIPS]) and all(
        ["\nDIGITS = 1\n" in git("show", f"{tip}:convert.py") for tip in TIPS]
    )


def checks_are_kept():
    """Each check fails where a function of its commit is wrong, and where Ann's rounding is."""
    broken = {"celsius": TIPS, "fahrenheit": TIPS, "kelvin": TIPS[1:]}
    return all([not says_ok(tip, breaking=name) for name, tips in broken.items() for tip in tips])


score(
    {
        "the commits": commits,
        "on top of Ann's": on_top,
        "the notes": notes,
        "nothing of the debugging": nothing_of_the_debugging,
        "constants": constants,
        "functions after the first": lambda: functions("main~2", ROUNDED, missing="kelvin"),
        "functions after the second": lambda: functions("main~1", ROUNDED | KELVIN),
        "functions at the end": lambda: functions("main", ROUNDED | KELVIN),
        "check.py says ok": lambda: all([says_ok(tip) for tip in TIPS]),
        "check.py checks": checks_are_kept,
        "rescued stays": lambda: git("rev-parse", "refs/heads/rescued") == RESCUED and clean(),
    }
)
