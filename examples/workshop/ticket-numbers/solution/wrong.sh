#!/bin/bash
# A lock made with mkdir: it holds against other calls, and for ever after a kill.
cat > /app/next.sh <<'SCRIPT'
#!/bin/bash
cd -- "$1" || exit 3
until mkdir .lock 2> /dev/null; do sleep 0.01; done
trap 'rmdir .lock' EXIT
last=$(cat counter 2> /dev/null || echo 0)
[[ $last =~ ^(0|[1-9][0-9]*)$ ]] || exit 3
number=$((last + 1))
if [ -x hook ]; then
    ./hook "$number" >&2 || exit 5
fi
echo "$number" > counter
echo "$number"
SCRIPT
