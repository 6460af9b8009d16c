#!/bin/bash
cat > /app/semver.py <<'PY'
"""Semantic versions: sorted, and matched with ranges."""

import re
import sys

NUMBER = "(0|[1-9][0-9]*)"
PART = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
META = "[0-9A-Za-z-]+"
VERSION = re.compile(
    rf"{NUMBER}\.{NUMBER}\.{NUMBER}(?:-({PART}(?:\.{PART})*))?(?:\+{META}(?:\.{META})*)?"
)
HOLDS = {
    "=": lambda one, other: one == other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def key(text):
    """Sorts as precedence does; None if it is no version."""
    match = VERSION.fullmatch(text)
    if not match:
        return None
    numbers = tuple(map(int, match.groups()[:3]))
    if match[4] is None:
        return numbers, (1,)
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split(".")]
    return numbers, (0, *parts)


def ceiling(sign, numbers):
    major, minor, patch = numbers
    if sign == "~" or (major == 0 and minor):
        return major, minor + 1, 0
    return (major + 1, 0, 0) if major else (0, 0, patch + 1)


def comparison(text):
    match = re.fullmatch(r"(<=|>=|[=<>^~])(.*)", text)
    bound = match and key(match[2])
    if not bound:
        sys.exit(3)
    if match[1] in HOLDS:
        return bound, lambda version: HOLDS[match[1]](version, bound)
    limit = ceiling(match[1], bound[0])
    return bound, lambda version: bound <= version and version[0] < limit


def lies_in(version, comparisons):
    if version[1] != (1,) and not any(b[0] == version[0] and b[1] != (1,) for b, _ in comparisons):
        return False
    return all(holds(version) for _, holds in comparisons)


def main():
    comparisons = [comparison(text) for text in sys.argv[2].split(" ")] if sys.argv[1] == "match" else []
    lines = sys.stdin.read().split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if key(line) is None:
            print("line", number, file=sys.stderr)
            sys.exit(2)
    if sys.argv[1] == "sort":
        lines.sort(key=key)
    else:
        lines = [line for line in lines if lies_in(key(line), comparisons)]
    print("".join(line + "\n" for line in lines), end="")


main()
PY
