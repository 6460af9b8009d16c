#!/bin/bash
set -e
cd /app/units
best="" best_date=0
for commit in $(git fsck --lost-found --no-reflogs 2> /dev/null | awk '$2 == "commit" { print $3 }'); do
    [ "$(git show -s --format=%s "$commit")" = "Convert kelvin as well" ] || continue
    place=$(mktemp -d)
    git archive "$commit" | tar -x -C "$place"
    said=$(cd "$place" && python3 -B check.py 2> /dev/null | tail -n 1) || true
    date=$(git show -s --format=%at "$commit")
    if [ "$said" = ok ] && [ "$date" -gt "$best_date" ]; then best=$commit best_date=$date; fi
done
git branch rescued "$best"
for blob in $(git fsck --no-reflogs 2> /dev/null | awk '$2 == "blob" { print $3 }'); do
    if [ "$(git cat-file blob "$blob" | head -n 1)" = "# Conversions" ] && git cat-file blob "$blob" | grep -q kelvin; then
        git cat-file blob "$blob" > /app/NOTES.md
    fi
done
rm -rf .git/lost-found
