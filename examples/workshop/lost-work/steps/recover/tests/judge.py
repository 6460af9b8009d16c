"""Judges the first step: the branch is at the very commit, and the file is there."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from cases import MAIN, NOTES, RESCUED, clean, git
from scoring import score


def others():
    return git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/heads/rescued"]


score(
    {
        "the branch": lambda: git("rev-parse", "refs/heads/rescued") == RESCUED,
        "the file": lambda: Path("/app/NOTES.md").read_text(encoding="utf-8") == NOTES,
        "main is as it was": lambda: git("rev-parse", "refs/heads/main") == MAIN and clean(),
        "no other branches or tags": others,
    }
)
