#!/bin/bash
python3 - <<'PROGRAM'
from datetime import UTC, datetime
from pathlib import Path

outages = []
for log in Path("/app/logs").glob("*.log"):
    checks = []
    for line in log.read_text().splitlines():
        words = line.split()
        for state in ("ok", "down"):
            if f"health={state}" in words:
                checks.append((datetime.fromisoformat(words[0]).astimezone(UTC), state))
    checks.sort()
    start = None
    for time, state in checks:
        if state == "down" and start is None:
            start = time
        elif state == "ok" and start is not None:
            outages.append((start, log.stem, time))
            start = None
    if start is not None:
        outages.append((start, log.stem, checks[-1][0]))

form = "%Y-%m-%dT%H:%M:%SZ"
rows = ["service,start,end,seconds"]
for start, service, end in sorted(outages):
    rows.append(f"{service},{start:{form}},{end:{form}},{int((end - start).total_seconds())}")
Path("/app/outages.csv").write_text("\n".join(rows) + "\n")
PROGRAM
