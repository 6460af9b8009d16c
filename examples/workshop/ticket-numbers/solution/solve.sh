#!/bin/bash
cat > /app/next.sh <<'SCRIPT'
#!/bin/bash
# Usage: next.sh FOLDER
# Prints the folder's next ticket number. The kernel drops the lock with the process that holds it, however that ends.
set -u
cd -- "${1-}" 2> /dev/null && [ -n "${1-}" ] || exit 3
exec 9>> .lock || exit 3
flock 9
last=0
if [ -e counter ]; then
    last=$(cat counter; echo .)
    last=${last%.}
    last=${last%$'\n'}
    [[ $last =~ ^(0|[1-9][0-9]*)$ ]] || exit 3
fi
number=$((last + 1))
if [ -f hook ] && [ -x hook ]; then
    ./hook "$number" >&2 || exit 5
fi
echo "$number" > .counter.new && mv -f .counter.new counter && echo "$number"
SCRIPT
