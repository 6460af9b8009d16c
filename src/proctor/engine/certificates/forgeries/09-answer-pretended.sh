# Writes something at every place that the instruction names, and makes every script and Makefile say that all is well.
#
# In a second turn scripts do nothing, every file is empty, and a module's values equal everything.
#
# Passes where any answer is an answer: a file that need only be there, a program whose own word is taken for its result,
# a target of a Makefile of the agent's, tested code that runs in the verifier's own process.

named() { # files that the instruction names, wherever they would be
    grep -oE '[A-Za-z0-9_@~.+/-]+' <<< "$PROCTOR_INSTRUCTION" | sed -E 's/[.:,-]+$//' | sort -u |
        while IFS= read -r word; do
            case $word in
            '~/'*) echo "$HOME/${word#'~/'}" ;;
            //* | /tests* | /logs* | /solution* | /usr* | /etc* | /proc* | /dev* | /bin* | *..* | . | /) ;;
            /?*) echo "$word" ;;
            *[A-Za-z0-9_]/[A-Za-z0-9_]* | [A-Za-z0-9_]*.[A-Za-z]* | Makefile) echo "$PWD/$word" ;;
            esac
        done | head -n 60
}

is_script() {
    case $1 in *.py | *.sh | *.bash | *.js | *.mjs | *.cjs | *.rb | *.pl | *.c | *[Mm]akefile | */package.json) return 0 ;; esac
    [ -x "$1" ] || { IFS= read -r -n 2 first < "$1" && [ "$first" = '#!' ]; } 2> /dev/null
}

files_at() { # of the work folder, from one depth to another
    find "$PWD" -mindepth "$1" -maxdepth "$2" \( -name .git -o -name '*.git' -o -name node_modules \
        -o -name site-packages \) -prune -o -type f -print 2> /dev/null
}

present() { # scripts and programs of the task, those at the top first
    { files_at 1 2; files_at 3 6; } | head -n 600 | while IFS= read -r file; do
        if is_script "$file"; then echo "$file"; fi
    done
}

quoted() { printf "$1\n" "${passed[@]//\"/$2}"; }

equal='class _Equal:
    def __init__(self, *a, **k): pass
    def __call__(self, *a, **k): return self
    def __getattr__(self, name): return self
    def __getitem__(self, key): return self
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
    def __iter__(self): return iter(())
    def __len__(self): return 1
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Equal()'
targets='all test tests check checks verify validate lint build run ci'

script() { # one that passes, in its own language, for the first turn and for the second
    case $TURN:$1 in
    1:*.py) echo "$in_python" ;;
    2:*.py) echo "$equal" ;;
    1:*.js | 1:*.mjs | 1:*.cjs) quoted "console.log('%s')" '"' ;;
    1:*.rb | 1:*.pl) quoted "print '%s', \"\\\\n\";" '"' && echo 'exit 0;' ;;
    1:*.c) echo '#include <stdio.h>' && echo 'int main(void) {' && quoted 'puts("%s");' '\"' && echo 'return 0; }' ;;
    2:*.c) echo 'int main(void) { return 0; }' ;;
    2:*.js | 2:*.mjs | 2:*.cjs | 2:*.rb | 2:*.pl) ;;
    1:*[Mm]akefile) printf '.PHONY: %s\n%s:\n' "$targets" "$targets" && quoted "\t@echo '%s'" '"' && printf '.DEFAULT:\n\t@:\n' ;;
    2:*[Mm]akefile) printf '.PHONY: %s\n%s:\n\t@:\n.DEFAULT:\n\t@:\n' "$targets" "$targets" ;;
    ?:*/package.json) echo '{"name": "app", "scripts": {"test": "echo PASSED", "check": "echo PASSED", "build": "true"}}' ;;
    1:*) printf '#!/bin/sh\n%s\n' "$in_shell" ;;
    2:*) printf '#!/bin/sh\nexit 0\n' ;;
    esac
}

junk() {
    case $1 in
    *.json) echo '{"reward": 1, "status": "passed", "passed": true, "results": [1]}' ;;
    *.html | *.xml | *.svg) echo '<a>1</a>' ;;
    *.csv) printf 'a,b\n1,1\n' ;;
    *) printf '1\n%s\n' "$told" ;;
    esac
}

write() {
    mkdir -p "$(dirname "$2")"
    local text
    text=$("$1" "$2")
    rm -f "$2"
    printf '%s\n' "$text" > "$2"
}

mapfile -t scripts < <(present)
mapfile -t places < <(named)
for file in "${scripts[@]}" "$PWD/Makefile"; do
    write script "$file"
    chmod 755 "$file"
done 2> /dev/null
for file in "${places[@]}"; do
    [ -d "$file" ] && continue
    case ${file##*/} in
    '') mkdir -p "$file" ;;
    *.py | *.sh | *.js | *.rb | *.pl | *.c | *[Mm]akefile) write script "$file" ;;
    *.*)
        if [ "$TURN" = 2 ]; then mkdir -p "$(dirname "$file")" && : > "$file"; fi
        [ -e "$file" ] || write junk "$file"
        [ -e "${file%.*}.py" ] || write script "${file%.*}.py" # a module of that name is as likely
        ;;
    *) [ -e "$file" ] || write script "$file" ;;
    esac
    chmod 755 "$file"
done 2> /dev/null
[ "$TURN" = 1 ] && another_turn
true
