#!/bin/bash
cat > /app/apply.py <<'PY'
"""Applies a unified diff to a file."""

import re
import sys
from pathlib import Path

HEAD = re.compile(rb"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")


class Malformed(Exception):
    pass


class Misfit(Exception):
    pass


def lines_of(data):
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def body(lines, at, counts):
    """The old and the new lines of the hunk whose body begins at a place, and the place behind it."""
    sides, last = ([], []), ()
    while True:
        line = lines[at].rstrip(b"\n") if at < len(lines) else None
        if line is not None and line.startswith(b"\\"):
            if not last or any(not sides[side][-1].endswith(b"\n") for side in last):
                raise Malformed
            for side in last:
                sides[side][-1] = sides[side][-1][:-1]
            last = ()
        elif [len(side) for side in sides] == counts:
            break
        else:
            if line is None or line[:1] not in (b"", b" ", b"-", b"+"):
                raise Malformed
            last = {b"-": (0,), b"+": (1,)}.get(line[:1], (0, 1))
            for side in last:
                sides[side].append(line[1:] + b"\n")
                if len(sides[side]) > counts[side]:
                    raise Malformed
        at += 1
    if any(not line.endswith(b"\n") for side in sides for line in side[:-1]):
        raise Malformed
    return sides, at


def hunks_of(data):
    lines, hunks = lines_of(data), []
    at = next((place for place, line in enumerate(lines) if line.startswith(b"--- ")), len(lines)) + 2
    if at >= len(lines) or not lines[at - 1].startswith(b"+++ "):
        raise Malformed
    while at < len(lines):
        match = HEAD.match(lines[at])
        if not match:
            raise Malformed
        counts = [int(match[group] or 1) if match[group] is not None else 1 for group in (2, 4)]
        sides, at = body(lines, at + 1, counts)
        hunks.append(((int(match[1]), int(match[3])), sides))
    return hunks


def place_of(file, old, new, expected, floor):
    def fits(at):
        end = at + len(old)
        if at < floor or end > len(file) or file[at:end] != old:
            return False
        if new and not new[-1].endswith(b"\n") and end != len(file):
            return False
        return not (new and at and not file[at - 1].endswith(b"\n"))

    if not old:
        return expected if fits(expected) else None
    for far in range(max(expected, 0) + len(file) + 1):
        for at in (expected - far, expected + far):
            if fits(at):
                return at
    return None


def apply(file, hunks, side):
    out, floor, drift = [], 0, 0
    for number, (starts, sides) in enumerate(hunks, start=1):
        old, new = sides[side], sides[1 - side]
        said = starts[side] - 1 if old else starts[side]
        at = place_of(file, old, new, said + drift, floor)
        if at is None:
            raise Misfit(number)
        out += file[floor:at] + new
        floor, drift = at + len(old), at - said
    return b"".join(out + file[floor:])


def main():
    arguments = sys.argv[1:]
    side = int("--reverse" in arguments)
    file, diff = [name for name in arguments if name != "--reverse"]
    try:
        result = apply(lines_of(Path(file).read_bytes()), hunks_of(Path(diff).read_bytes()), side)
    except (Malformed, OSError):
        sys.exit(2)
    except Misfit as misfit:
        print("hunk", misfit, file=sys.stderr)
        sys.exit(1)
    sys.stdout.buffer.write(result)


main()
PY
