#!/bin/bash
cd /app/slugs
git merge --quiet --no-ff -m "Merge branch 'limit'" limit
cat > slugs.py <<'PY'
"""Parts of URLs from titles."""


def slugify(title, limit=None):
    """The words of a title in lower case, joined by hyphens, of at most ``limit`` characters; else ``untitled``.

    Words that don't fit are left out; a first word that doesn't fit is cut.
    """
    spaced = "".join(letter if letter.isalnum() else " " for letter in title.lower())
    slug = "-".join(spaced.split()) or "untitled"
    if limit is None or len(slug) <= limit:
        return slug
    whole, _, _ = slug[: limit + 1].rpartition("-")
    return whole or slug[:limit]
PY
git add slugs.py
git commit --quiet -m "Merge branch 'limit'"
