#!/bin/bash
cat > /app/rotate.sh <<'SCRIPT'
#!/bin/bash
# Usage: rotate.sh FOLDER KEEP
# Deletes all but the KEEP newest backups of a folder.
set -u
if [[ $# -ne 2 || ! $2 =~ ^(0|[1-9][0-9]*)$ ]] || ! cd -- "$1" 2> /dev/null; then
    exit 2
fi
for name in backup-*.tar; do
    if [[ -f $name && ! -L $name && $name =~ ^backup-(0|[1-9][0-9]*)\.tar$ ]]; then
        echo "${BASH_REMATCH[1]}"
    fi
done | sort -n | head -n "-$2" | while read -r number; do
    rm -- "backup-$number.tar" && echo "backup-$number.tar"
done
exit 0
SCRIPT
