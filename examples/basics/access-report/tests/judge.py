"""Runs /app/report.sh on logs made here and compares it line by line. Exit code 0: right."""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

REQUESTS = [
    ("GET / HTTP/1.1", "Mozilla/5.0"),
    ("GET /search?q=two words HTTP/1.1", "curl/8.5.0"),
    ('GET /say?text=\\"500 hello\\" HTTP/1.1', "bot 503 (compatible)"),
    ("-", "-"),
    ("", 'a \\"quoted\\" agent'),
    ("POST /pay HTTP/1.1 500 502", "Mozilla/5.0"),
]


def line(address, status, number):
    request, agent = REQUESTS[number % len(REQUESTS)]
    user = "-" if number % 3 else "alice"
    return f'{address} - {user} [01/Mar/2026:10:00:00 +0000] "{request}" {status} {number} "-" "{agent}"'


def random_log(seed, addresses):
    choice = random.Random(seed)
    statuses = [200, 301, 404, 499, 500, 502, 503, 599, 600]
    return [(choice.choice(addresses), choice.choice(statuses)) for _ in range(400)]


def wanted(entries):
    counts = Counter(address for address, status in entries if 500 <= status <= 599)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))
    return [f"{count} {address}" for address, count in ranked[:5]]


def check(name, entries, noise=()):
    lines = [line(address, status, number) for number, (address, status) in enumerate(entries)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / name
        log.write_text("".join(f"{text}\n" for text in [*lines, *noise]))
        log.chmod(0o644)
        Path(folder).chmod(0o755)
        ran = subprocess.run(["bash", "/app/report.sh", str(log)], capture_output=True, timeout=10, text=True)
    right = ran.stdout.splitlines() == wanted(entries)
    print(f"{'right' if right else 'WRONG'}: {name}")
    return right


def main():
    many = [f"198.51.100.{number}" for number in range(1, 30)] + ["2001:db8::1", "2001:db8::a", "10.0.0.9"]
    ties = [(address, 500) for address in ("10.0.0.9", "10.0.0.10", "9.9.9.9", "2001:db8::1", "10.0.0.2", "1.1.1.1")]
    results = [
        check("many.log", random_log(1, many), noise=["server restarted", "", 'half a line "GET /']),
        check("few.log", random_log(2, many[:3])),
        check("ties.log", ties),
        check("a log with spaces.log", random_log(3, many)),
        check("no failures.log", [("10.0.0.1", 200), ("10.0.0.2", 404), ("10.0.0.3", 600)]),
        check("empty.log", []),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
