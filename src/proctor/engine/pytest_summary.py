"""The verdict of a Terminal-Bench 1 verifier: the "short test summary info" that pytest prints, and nothing else.

Anything that runs in the verifier's sandbox can print such lines, tested code too: a grading that rests on them is
recorded as forgeable. What is unclear is a problem of the verifier and never a pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.engine.evidence import VerifierProblem

__all__ = ["parse_summary"]

_HEAD = re.compile(r"^[^=\n]*=+ *short test summary info *=+[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""Whatever was printed before without an end of line may stand in front of it."""
_LINE = re.compile(r"^[ \t]*(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED)[ \t]+\S", re.MULTILINE)
_GOOD: frozenset[str] = frozenset({"PASSED", "XFAIL", "SKIPPED"})
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours, where a task has pytest print them."""


def parse_summary(output: bytes) -> Mapping[str, float] | VerifierProblem:
    """Reward 1 where every test named after the first summary's head was good, else 0; else what is wrong.

    A test that is named twice counts twice, so that no later line takes a failure back. A summary that names no test
    has no verdict; Terminal-Bench takes ``all([])`` for resolved.
    """
    text = _ESCAPES.sub(b"", output).decode("utf-8", "replace").replace("\r\n", "\n")
    head = _HEAD.search(text)
    if head is None:
        return VerifierProblem.UNPARSABLE
    words = _LINE.findall(text, head.end())
    if not words:
        return VerifierProblem.EMPTY
    return {"reward": float(_GOOD.issuperset(words))}
