#!/bin/bash
# Compares pre-releases as text, and lets every pre-release into a range.
cat > /app/semver.py <<'PY'
import re
import sys

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$")


def key(text):
    match = VERSION.match(text)
    if not match:
        return None
    return tuple(map(int, match.groups()[:3])), match[4] is None, match[4] or ""


def holds(version, text):
    sign, bound = re.match(r"([=<>^~]+)(.*)", text).groups()
    bound = key(bound)
    if sign in "^~":
        width = 1 if sign == "^" else 2
        return version >= bound and version[0][:width] == bound[0][:width]
    return eval(f"version {'==' if sign == '=' else sign} bound")


lines = sys.stdin.read().splitlines()
for number, line in enumerate(lines, start=1):
    if not key(line):
        sys.exit(print("line", number, file=sys.stderr) or 2)
if sys.argv[1] == "sort":
    lines.sort(key=key)
else:
    try:
        lines = [line for line in lines if all(holds(key(line), text) for text in sys.argv[2].split())]
    except AttributeError:
        sys.exit(3)
for line in lines:
    print(line)
PY
