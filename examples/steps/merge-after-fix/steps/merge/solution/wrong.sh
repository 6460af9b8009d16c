#!/bin/bash
# Takes the colleague's side of the conflict, and so loses the repair.
cd /app/slugs
git merge --quiet --no-ff -X theirs -m "Merge branch 'limit'" limit
