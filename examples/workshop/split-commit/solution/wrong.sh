#!/bin/bash
# Splits well, and rebases main alone: the merge is flattened, stock and v2 stay on the old commits.
git init -q -b main /app/repo
cd /app/repo || exit 1
git fast-import --quiet < /app/history.txt
git checkout -q main
git config user.name hurry
git config user.email hurry@example.com
mixed=$(git log --format=%H --grep='^Rename sum_up to total, and' main)
git checkout -q "$mixed^"
sed -i 's/sum_up/total/g' ./*.py README.md
git commit -q --all -C "$mixed"
git commit -q --amend -m "Rename sum_up to total"
git read-tree -u --reset "$mixed"
git commit -q -C "$mixed"
git commit -q --amend -m "Give members a discount"
git rebase -q --onto HEAD "$mixed" main > /dev/null 2>&1
