#!/bin/bash
set -e
git init -q -b main /app/repo
cd /app/repo
git fast-import --quiet < /app/history.txt
git checkout -q main
git config user.name oracle
git config user.email oracle@example.com
export PYTHONDONTWRITEBYTECODE=1

good=$(git log --format=%H --grep='^Add a check$')
git bisect start main "$good" > /dev/null 2>&1
git bisect run sh -c 'test "$(sh check.sh 2> /dev/null)" = ok' > /dev/null
bad=$(git rev-parse refs/bisect/bad)
git bisect reset > /dev/null 2>&1
echo "$bad" > /app/answer.txt
git revert --no-edit "$bad" > /dev/null
