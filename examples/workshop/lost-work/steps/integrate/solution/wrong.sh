#!/bin/bash
# Merges everything at once, the debug prints too, and rounds only what was rounded before.
cd /app/units || exit 1
git config user.name hurry
git config user.email hurry@example.com
git cherry-pick -X theirs main..rescued > /dev/null 2>&1
cp /app/NOTES.md .
git add -A
git commit --quiet -m "Add notes"
