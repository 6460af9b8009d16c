#!/bin/bash
# Works on text lines and takes the first place where a hunk fits; knows nothing of ends without a line end.
cat > /app/apply.py <<'PY'
import re
import sys

arguments = [word for word in sys.argv[1:] if word != "--reverse"]
reverse = "--reverse" in sys.argv
try:
    file = open(arguments[0]).read().splitlines(keepends=True)
    diff = open(arguments[1]).read().splitlines(keepends=True)
except OSError:
    sys.exit(2)
hunks = []
for line in diff:
    if line.startswith("@@"):
        match = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", line)
        if not match:
            sys.exit(2)
        hunks.append((int(match[2 if reverse else 1]), [], []))
    elif hunks and line[0] in " -+":
        if line[0] in " -":
            hunks[-1][2 if reverse else 1].append(line[1:])
        if line[0] in " +":
            hunks[-1][1 if reverse else 2].append(line[1:])
if not hunks:
    sys.exit(2)
shift = 0
for number, (start, old, new) in enumerate(hunks, start=1):
    at = start - 1 + shift if old else start + shift
    if file[at : at + len(old)] != old:
        places = [place for place in range(len(file)) if file[place : place + len(old)] == old]
        if not places:
            print("hunk", number, file=sys.stderr)
            sys.exit(1)
        at = places[0]
    file[at : at + len(old)] = new
    shift += len(new) - len(old)
sys.stdout.write("".join(file))
PY
