#!/bin/bash
# Blames the last commit that touched the price, and undoes that one.
git init -q -b main /app/repo
cd /app/repo || exit 1
git fast-import --quiet < /app/history.txt
git checkout -q main
bad=$(git log -1 --format=%H -- price.py)
echo "$bad" > /app/answer.txt
git -c user.name=guess -c user.email=guess@example.com revert --no-edit "$bad"
