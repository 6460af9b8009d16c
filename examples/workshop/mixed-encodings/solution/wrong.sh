#!/bin/bash
# Reads lines as text: one mark only, every kind of line end, and latin-1 in the place of Windows-1252.
cat > /app/clean.py <<'PY'
import sys
from pathlib import Path

out = []
for line in Path(sys.argv[1]).read_bytes().splitlines():
    try:
        out.append(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        out.append(line.decode("latin-1"))
Path(sys.argv[2]).write_text("".join(line + "\n" for line in out), encoding="utf-8")
PY
python3 /app/clean.py /app/guests.txt /app/guests.clean.txt
