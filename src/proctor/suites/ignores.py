"""Which files of a task folder are no part of the task: the rules of gitignore(5).

Harbor applies a task's ``.gitignore`` (or a default list) to file paths relative to the task, and
``.harborignore`` files to tests and solutions while walking down. Both need the same matcher.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["DEFAULT_IGNORES", "Ignores", "ignores"]

DEFAULT_IGNORES: tuple[str, ...] = ("__pycache__/", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
"""Applied by Harbor's packager to a task without a .gitignore, so by us: digests must agree."""

_MOST_DEEP_WILDCARDS: int = 4
"""A line with more ``**`` is left out: each one multiplies the work, and nobody needs five."""


@dataclass(frozen=True)
class Ignores:
    """The compiled lines of one ignore file."""

    rules: tuple[tuple[re.Pattern[str], bool], ...]

    def decide(self, path: str) -> bool | None:
        """True: ignored. False: kept by a ``!`` line. None: no line speaks of it. Folders end with a slash."""
        for pattern, ignored in reversed(self.rules):
            if pattern.match(path):
                return ignored
        return None


@lru_cache(maxsize=256)
def ignores(lines: tuple[str, ...]) -> Ignores:
    """The rules that the lines of an ignore file say."""
    rules = (_rule(line) for line in lines)
    return Ignores(tuple(rule for rule in rules if rule is not None))


def _rule(line: str) -> tuple[re.Pattern[str], bool] | None:
    line = re.sub(r"(?<!\\)[ \t]+$", "", line)
    ignored = not line.startswith("!")
    text = line if ignored else line[1:]
    if not text.strip("/") or line.startswith("#") or text.count("**") > _MOST_DEEP_WILDCARDS:
        return None
    folder_only = text.endswith("/")
    body = text.rstrip("/")
    try:
        return re.compile(_expression(body.lstrip("/").split("/"), "/" in body, folder_only)), ignored
    except re.error:
        return None


def _expression(segments: Sequence[str], anchored: bool, folder_only: bool) -> str:
    last = len(segments) - 1
    parts = [] if anchored else ["(?:.+/)?"]
    for position, segment in enumerate(segments):
        if segment == "**":
            parts.append("" if position == last else "(?:.+/)?")
        elif position == last and segment == "*" and anchored and not folder_only:
            parts.append("[^/]+/?$")  # the packager's matcher stops at direct children here, git does not
        else:
            parts.append(_segment(segment) + ("" if position == last else "/"))
    if segments[-1] == "**":
        return "".join(parts) + (".*/" if folder_only and set(segments) == {"**"} else ".")
    end = "/" if folder_only else "(?:/|$)"
    return "".join(parts) + end


def _segment(glob: str) -> str:
    """One path segment as a regular expression: ``*``, ``?``, ``[...]`` and backslash escapes.

    What stands between two stars is matched at its first place and never again (an atomic group), so a
    line full of stars costs no more than its length.
    """
    chunks = [""]
    for token in re.findall(r"\\.|\[!?\]?[^\]/]*\]|\*+|.", glob, flags=re.DOTALL):
        if token.startswith("*"):
            chunks.append("")
        else:
            chunks[-1] += _atom(token)
    if len(chunks) == 1:
        return chunks[0]
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1])
    return f"{chunks[0]}{middle}[^/]*{chunks[-1]}"


def _atom(glob: str) -> str:
    if glob == "?":
        return "[^/]"
    if glob.startswith("[") and len(glob) > 2:
        return _character_class(glob[1:-1])
    return re.escape(glob[1:] if len(glob) == 2 and glob[0] == "\\" else glob)


def _character_class(body: str) -> str:
    negated = body.startswith(("!", "^"))
    members = body[1:] if negated else body
    return ("[^/" if negated else "[") + members.replace("[", r"\[") + "]"
