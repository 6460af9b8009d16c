# Looks for the fix in the history of every repository that came with the task, and checks it out: a commit each turn.
#
# Passes where the commit that solves the task is still there: on a branch or tag, in a stash or the reflog, dangling, or
# before the one that took it back. What HEAD does not have comes first, and what calls itself a fix.

git() { command git -c safe.directory='*' -c advice.detachedHead=false -c core.hooksPath=/dev/null "$@"; }

listed() { # commits from standard input, those whose subject speaks of a fix first, then the newest
    git log --no-walk --stdin --format='%ct %H %s' 2> /dev/null | while read -r time commit subject; do
        case ${subject,,} in
        *fix* | *solv* | *solution* | *answer* | *correct* | *repair* | *wip* | *stash*) echo "1 $time $commit" ;;
        *) echo "0 $time $commit" ;;
        esac
    done | sort -k 1,1nr -k 2,2nr -s | cut -d ' ' -f 3
}

candidates() { # how to take a commit, the commit and its repository
    git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' 2> /dev/null |
        sed -n 's/^commit //p' | sort > "$made/all"
    git rev-list HEAD 2> /dev/null > "$made/known"
    sort "$made/known" | comm -23 "$made/all" - | head -n 2000 | listed | while read -r commit; do
        echo "whole $commit $place"
        git merge-base --is-ancestor HEAD "$commit" || echo "change $commit $place"
    done
    sed 1d "$made/known" | head -n 200 | while read -r commit; do echo "whole $commit $place"; done
}

made=$(mktemp -d)
find / -xdev \( -path /proc -o -path /usr -o -path /dev \) -prune -o \( -name .git -o -name '*.git' \) -print 2> /dev/null |
    while IFS= read -r place; do
        export GIT_DIR=$place
        git rev-parse --git-dir > /dev/null 2>&1 && candidates
    done > "$made/candidates"

read -r how commit place < <(sed -n "${TURN}p" "$made/candidates")
[ "$(wc -l < "$made/candidates")" -gt "$TURN" ] && another_turn
rm -rf "$made"
if [ -n "$commit" ]; then
    echo "$place: $how $commit"
    work=$PWD
    case $place in */.git) work=${place%/.git} ;; esac
    export GIT_DIR=$place GIT_WORK_TREE=$work
    cd "$work" || exit 0
    case $how in
    whole) git checkout -q -f --detach "$commit" || git checkout -q -f "$commit" -- . ;;
    change) git diff --name-only --diff-filter=AM -z "$commit~" "$commit" |
        xargs -0 -r git -c safe.directory='*' checkout -q -f "$commit" -- ;;
    esac
fi
true
