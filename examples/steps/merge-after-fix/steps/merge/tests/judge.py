"""Judges the merge: the repair and the limit both hold, and history is whole."""

import runpy
import sys
from types import SimpleNamespace

LIMITED = [
    (["Hello,  World!", 5], "hello"),
    (["Hello,  World!", 10], "hello"),
    (["Hello,  World!", 11], "hello-world"),
    (["Hello,  World!", 3], "hel"),
    (["a b c d", 4], "a-b"),
    (["a b c d", 5], "a-b-c"),
    (["...", 4], "unti"),
    (["One, two", None], "one-two"),
]
lib = SimpleNamespace(**runpy.run_path(sys.argv[1]))
calls = [([title], wanted) for title, wanted in lib.REPAIRED.items()] + LIMITED
given = lib.slugs([arguments for arguments, _ in calls])
checks = {repr(arguments): slug == wanted for (arguments, wanted), slug in zip(calls, given, strict=True)}
checks |= lib.committed()
branch = lib.git("log", "-1", "--format=%s %an %at %P", "limit").rpartition(" ")
checks["the branch is as it was"] = branch[0] == "Slugs of a limited length Ben Example 1767690000"
merges = lib.git("log", "--merges", "--first-parent", "--format=%P", "main").split("\n")
tip = lib.git("rev-parse", "limit")
checks["merged with a merge commit"] = bool(tip) and any(tip in parents.split() for parents in merges)
lib.judge(checks)
