#!/bin/bash
# A commit of Ann's arrives on main, whatever is checked out. Nothing of this file stays.
set -e
cd /app/units
git config gc.auto 0
tip=$(git rev-parse refs/heads/main)
convert=$(git hash-object -w --stdin <<'PY'
"""Temperatures."""

DIGITS = 1


def celsius(fahrenheit):
    """Degrees Celsius of degrees Fahrenheit."""
    return round((fahrenheit - 32) * 5 / 9, DIGITS)
PY
)
check=$(git hash-object -w --stdin <<'PY'
"""Prints ok if the conversions are right."""

import convert

assert convert.celsius(212) == 100
assert convert.celsius(100) == 37.8
print("ok")
PY
)
tree=$(git ls-tree "$tip" | sed -E "s/[0-9a-f]{40}\tconvert.py/$convert\tconvert.py/; s/[0-9a-f]{40}\tcheck.py/$check\tcheck.py/" | git mktree)
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_AUTHOR_DATE="2026-03-20T10:00:00Z"
export GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com GIT_COMMITTER_DATE="2026-03-20T10:00:00Z"
commit=$(git commit-tree "$tree" -p "$tip" -m "Round to one decimal")
git update-ref refs/heads/main "$commit"
git checkout --quiet --force main
git reset --quiet --hard
rm -f /app/setup.sh
