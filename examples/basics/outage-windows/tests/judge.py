"""Compares /app/outages.csv with outages worked out from the logs in /tests/logs. Exit code 0: right."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

CHECK = re.compile(r"^(\S+) (?:.* )?health=(ok|down)(?: .*)?$")


def outages(log):
    found = filter(None, map(CHECK.match, log.read_text().splitlines()))
    checks = sorted((int(datetime.fromisoformat(match[1]).timestamp()), match[2]) for match in found)
    start = None
    for time, state in checks:
        if state == "down":
            start = time if start is None else start
        elif start is not None:
            yield start, log.stem, time
            start = None
    if start is not None:
        yield start, log.stem, checks[-1][0]


def utc(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def main():
    logs = Path(__file__).parent / "logs"
    rows = sorted(outage for log in logs.glob("*.log") for outage in outages(log))
    wanted = ["service,start,end,seconds"]
    wanted += [f"{service},{utc(start)},{utc(end)},{end - start}" for start, service, end in rows]
    try:
        got = Path("/app/outages.csv").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        print("outages.csv can't be read:", error)
        return 1
    for line in sorted(set(wanted) ^ set(got)):
        print("missing:" if line in wanted else "too many:", line)
    return 0 if got == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
