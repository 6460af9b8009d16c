#!/bin/bash
# Usage: rotate.sh FOLDER KEEP
# Deletes all but the KEEP newest backups of a folder.

cd $1
for name in $(ls backup-* | sort | head -n -$2); do
    echo $name
    rm $name
done
