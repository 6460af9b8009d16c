#!/bin/bash
# Converts the time zones, but trusts the order of the lines.
python3 - <<'PROGRAM'
from datetime import UTC, datetime
from pathlib import Path

outages = []
for log in Path("/app/logs").glob("*.log"):
    start = time = None
    for line in log.read_text().splitlines():
        words = line.split()
        if "health=ok" in words or "health=down" in words:
            time = datetime.fromisoformat(words[0]).astimezone(UTC)
            if "health=down" in words and start is None:
                start = time
            elif "health=ok" in words and start is not None:
                outages.append((start, log.stem, time))
                start = None
    if start is not None:
        outages.append((start, log.stem, time))

rows = ["service,start,end,seconds"]
for start, service, end in sorted(outages):
    seconds = int((end - start).total_seconds())
    rows.append(f"{service},{start:%Y-%m-%dT%H:%M:%SZ},{end:%Y-%m-%dT%H:%M:%SZ},{seconds}")
Path("/app/outages.csv").write_text("\n".join(rows) + "\n")
PROGRAM
