"""Runs /app/report.py on files made here. What is right is worked out by definition; in the large file, for a sample of lines."""

import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import ran, score

LIMITED = 'ulimit -t "$1"; exec python3 -B /app/report.py "$0"'
"""Seconds of processor time: a busy machine makes nobody wrong."""


def report(text, seconds=6):
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "the sales"
        file.write_text(text, encoding="utf-8")
        done = ran("bash", "-c", LIMITED, str(file), str(seconds), seconds=90)
    return done.stdout if done.returncode == 0 else None


def told(sales, place):
    """The line about a sale, from all sales up to it."""
    time = sales[place][0]
    window = [sale for sale in sales[: place + 1] if time - 300 < sale[0] <= time]
    amounts = sorted(amount for _, _, amount in window)
    buyers = len({buyer for _, buyer, _ in window})
    return f"{time} {len(window)} {buyers} {amounts[(len(amounts) - 1) // 2]} {amounts[-1]}\n"


def right(sales):
    text = "".join(f"{time} {buyer} {amount}\n" for time, buyer, amount in sales)
    return report(text) == "".join(told(sales, place) for place in range(len(sales)))


def small(order):
    choice = random.Random(f"small {order}")
    for size in (1, 2, 30, 300):
        times = [choice.randint(0, 900) for _ in range(size)]
        if order == "sorted":
            times.sort()
        elif order == "late":
            times = sorted(times, key=lambda time: time + choice.choice([0, 0, 0, 60]))
        if not right([(time, f"b{choice.randint(0, 9)}", choice.randint(0, 50)) for time in times]):
            return False
    return True


def edges():
    times = [0, 0, 299, 300, 300, 301, 599, 600, 10_000, 10_000, 0, 9_701, 9_700, 10_000, 300]
    return right([(time, f"b{place % 3}", 9 - place % 5) for place, time in enumerate(times)])


def skipped():
    lines = [
        "1 a 5",
        "",
        "2 a",
        "3 a 5 6",
        "x a 5",
        "4 a -5",
        "5 a 1.5",
        "-6 a 5",
        " 7\tb  07 ",
        "1_0 a 5",
        "\u0668 c 3",
        "9 d 1e3",
        "9 a 4",
    ]
    return report("\n".join(lines)) == "1 1 1 5 5\n7 2 2 5 7\n8 3 3 5 7\n9 4 3 4 7\n"


def large(late, size=40_000, seconds=6):
    choice = random.Random(20260407)
    sales, time = [], 1_772_000_000.0
    for _ in range(size):
        time += choice.random() * 0.12
        back = choice.randint(1, 60) if late and choice.random() < 0.01 else 0
        sales.append((int(time) - back, f"buyer{choice.randint(0, 3_000)}", choice.randint(1, 100_000)))
    given = report("".join(f"{when} {buyer} {amount}\n" for when, buyer, amount in sales), seconds)
    lines = (given or "").splitlines(keepends=True)
    after_late = [place for place in range(1, len(sales)) if sales[place][0] < sales[place - 1][0]]
    places = choice.sample(range(len(sales)), k=40) + after_late[::20] + [place + 1 for place in after_late[::40]]
    return len(lines) == len(sales) and all(
        [lines[place] == told(sales, place) for place in places if place < len(sales)]
    )


try:
    quick = large(False, size=8_000, seconds=1)
except Exception as error:  # noqa: BLE001 -- a program that fails is not quick
    print(f"{type(error).__name__}: {str(error)[:300]}")
    quick = False
CHECKS = {
    "a file of 8,000 lines": lambda: True,
    "a large file": lambda: large(False),
    "a large file with late lines": lambda: large(True),
    "sorted times": lambda: small("sorted"),
    "late lines": lambda: small("late"),
    "any order": lambda: small("any"),
    "edges of the window": edges,
    "an empty file": lambda: report("") == "",
    "skipped lines": skipped,
}
score(
    {title: lambda check=check: quick and check() for title, check in CHECKS.items()}
)  # slow and right was there before
