#!/bin/bash
set -e
cd /app/slugs
cat > slugs.py <<'PY'
"""Parts of URLs from titles."""


def slugify(title):
    """The words of a title in lower case, joined by hyphens; ``untitled`` without any."""
    spaced = "".join(letter if letter.isalnum() else " " for letter in title.lower())
    return "-".join(spaced.split()) or "untitled"
PY
git commit --quiet --all -m "Words are runs of letters and digits"
