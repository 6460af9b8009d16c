#!/bin/bash
# Sorts by number and quotes the folder, but still takes every file that begins with "backup-".
cat > /app/rotate.sh <<'SCRIPT'
#!/bin/bash
cd "$1" || exit 2
ls backup-* | sort -t- -k2 -n | head -n "-$2" | while read -r name; do
    echo "$name"
    rm "$name"
done
SCRIPT
