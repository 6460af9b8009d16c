#!/bin/bash
# A colleague's branch arrives: it begins at the first commit, and touches the lines that were repaired since.
set -e
cd /app/slugs
first=$(git rev-list --max-parents=0 refs/heads/main)
file=$(git hash-object -w --stdin <<'PY'
"""Parts of URLs from titles."""


def slugify(title, limit=None):
    """A title in lower case, its words joined by hyphens, of at most ``limit`` characters.

    Words that don't fit are left out; a first word that doesn't fit is cut.
    """
    slug = "-".join(title.lower().split(" "))
    if limit is None or len(slug) <= limit:
        return slug
    whole, _, _ = slug[: limit + 1].rpartition("-")
    return whole or slug[:limit]
PY
)
tree=$(printf '100644 blob %s\tslugs.py\n' "$file" | git mktree)
export GIT_AUTHOR_NAME="Ben Example" GIT_AUTHOR_EMAIL=ben@example.com GIT_AUTHOR_DATE="2026-01-06T09:00:00Z"
export GIT_COMMITTER_NAME="Ben Example" GIT_COMMITTER_EMAIL=ben@example.com GIT_COMMITTER_DATE="2026-01-06T09:00:00Z"
commit=$(git commit-tree "$tree" -p "$first" -m "Slugs of a limited length")
git update-ref refs/heads/limit "$commit"
