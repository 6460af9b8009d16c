#!/bin/bash
cat > /app/clean.py <<'PY'
"""Makes one clean UTF-8 file of lines in UTF-8 and Windows-1252."""

import sys
from pathlib import Path

MARK = b"\xef\xbb\xbf"


def clean(line):
    line = line.removesuffix(b"\r").removeprefix(MARK)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")


lines = Path(sys.argv[1]).read_bytes().split(b"\n")
if not lines[-1]:
    lines.pop()
text = "".join(clean(line) + "\n" for line in lines)
Path(sys.argv[2]).write_bytes(text.encode("utf-8"))
PY
python3 /app/clean.py /app/guests.txt /app/guests.clean.txt
