#!/bin/bash
# Makes the repository; only git can make one.
set -e
git init --quiet --initial-branch=main /app/slugs
cd /app/slugs
git config user.name "Ada Example"
git config user.email ada@example.com
cat > slugs.py <<'PY'
"""Parts of URLs from titles."""


def slugify(title):
    """A title in lower case, its words joined by hyphens."""
    return "-".join(title.lower().split(" "))
PY
git add slugs.py
GIT_AUTHOR_DATE="2026-01-05T09:00:00Z" GIT_COMMITTER_DATE="2026-01-05T09:00:00Z" git commit --quiet -m "Slugs of titles"
