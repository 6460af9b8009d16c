#!/bin/bash
set -e
git init -q -b main /app/repo
cd /app/repo
git fast-import --quiet < /app/history.txt
git config user.name oracle
git config user.email oracle@example.com
mixed=$(git log --all --format=%H --grep='^Rename sum_up to total, and')

# The files of the first half: those before the commit, with the other name.
export GIT_INDEX_FILE=.git/index.half
git read-tree "$mixed^"
git ls-files -s | while read -r mode blob _ path; do
    echo "$mode $(git cat-file blob "$blob" | sed 's/\bsum_up\b/total/g' | git hash-object -w --stdin) 0	$path"
done | git update-index --index-info
half=$(git write-tree)
unset GIT_INDEX_FILE

declare -A new
again() { # again COMMIT TREE MESSAGE-FILE PARENTS...: the same author, another place
    local commit=$1 tree=$2 message=$3 parents=()
    shift 3
    for parent in "$@"; do parents+=(-p "$parent"); done
    GIT_AUTHOR_NAME=$(git show -s --format=%an "$commit") GIT_AUTHOR_EMAIL=$(git show -s --format=%ae "$commit") \
        GIT_AUTHOR_DATE=$(git show -s --format=%ad --date=raw "$commit") \
        git commit-tree "$tree" "${parents[@]}" -F "$message"
}
first=$(again "$mixed" "$half" <(echo "Rename sum_up to total") "$mixed^")
new[$mixed]=$(again "$mixed" "$mixed^{tree}" <(echo "Give members a discount") "$first")
for commit in $(git rev-list --reverse --topo-order --ancestry-path "$mixed"..main; \
    git rev-list --reverse --topo-order main..stock); do
    parents=()
    for parent in $(git show -s --format=%P "$commit"); do parents+=("${new[$parent]:-$parent}"); done
    new[$commit]=$(again "$commit" "$commit^{tree}" <(git show -s --format=%B "$commit") "${parents[@]}")
done

old_v2=$(git rev-parse 'v2^{commit}')
for branch in main stock; do git update-ref "refs/heads/$branch" "${new[$(git rev-parse $branch)]}"; done
git for-each-ref --format='%(contents)' refs/tags/v2 | git tag -f -a -F - v2 "${new[$old_v2]}" > /dev/null
git checkout -q -f main
rm -f .git/index.half
