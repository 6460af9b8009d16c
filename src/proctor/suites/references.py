"""How people name a suite: by its id, by the beginning of its id, or by a label."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from proctor.suites.errors import AliasInvalid, SuiteUnknown

__all__ = ["MIN_PREFIX", "check_label", "is_prefix", "unknown_suite"]

MIN_PREFIX: int = 8
"""Characters of an id that must be given; fewer would soon fit several suites."""
_PREFIX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,99}")
_SHOWN: int = 3


def is_prefix(reference: str) -> bool:
    """Whether it can be the beginning of a suite id."""
    return _PREFIX.fullmatch(reference) is not None


def check_label(name: str) -> None:
    """Raises ``AliasInvalid`` for a label that is malformed or could be taken for an id."""
    if not _LABEL.fullmatch(name) or is_prefix(name):
        raise AliasInvalid(f"{name!r} can't be a label.")


def unknown_suite(reference: str, labels: Sequence[str]) -> SuiteUnknown:
    """The error for a reference that leads nowhere, naming the nearest labels."""
    near = difflib.get_close_matches(reference, labels, n=_SHOWN, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    short = re.fullmatch(r"[0-9a-f]{4,7}", reference)
    length = f" An id needs at least its first {MIN_PREFIX} characters." if short else ""
    return SuiteUnknown(f"There is no suite {reference!r}.{length}{hint}")
