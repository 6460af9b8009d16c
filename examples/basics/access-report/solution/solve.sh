#!/bin/bash
cat > /app/report.sh <<'SCRIPT'
#!/bin/bash
export LC_ALL=C
sed -nE 's/^([^ ]+) [^"]*"([^"\\]|\\.)*" (5[0-9][0-9])( .*)?$/\1/p' < "$1" |
    sort | uniq -c | awk '{ print $1, $2 }' | sort -k1,1nr -k2,2 | head -n 5
SCRIPT
