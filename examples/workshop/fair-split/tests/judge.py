"""Runs /app/split.py on bills that the agent has not seen, and splits them in another way: cent by cent."""

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

FIXED = {
    "thirds": [("100.00 1 1 1", "33.34 33.33 33.33"), ("0.02 1 1 1", "0.01 0.01 0.00")],
    "who lost most": [("1.00 1 1 4", "0.17 0.17 0.66"), ("10.00 1 5 1", "1.43 7.14 1.43")],
    "negative": [("-100.00 1 1 1", "-33.34 -33.33 -33.33"), ("-0.01 1 1", "-0.01 0.00"), ("-0.00 1", "0.00")],
    "zero weights": [("5.00 0 1 0", "0.00 5.00 0.00"), ("0.00 1 2", "0.00 0.00")],
    "weights are exact": [("0.30 0.1 0.2", "0.10 0.20"), ("1.00 0.333 0.333 0.334", "0.33 0.33 0.34")],
    "a single weight": [("19.99 0.001", "19.99")],
    "large amounts": [
        ("9007199254740993.01 1 1", "4503599627370496.51 4503599627370496.50"),
        ("9999999999999999999999999999.99 1 0", "9999999999999999999999999999.99 0.00"),
    ],
    "no weight at all": [("5.00 0 0", "error"), ("5.00", "error")],
    "other forms": [
        (line, "error")
        for line in (
            "5 1",
            "5.0 1",
            "5.000 1",
            "5.00 -1",
            "5.00 x",
            "5.00 1e3",
            "5.00  1",
            "",
            "+5.00 1",
            "5.00 .5",
            "5.00 1 ",
        )
    ],
}


def by_hand(cents, tenths):
    """Shares of an amount, with integers only; cents are dealt out one by one."""
    total = sum(tenths)
    shares, rests = zip(*(divmod(cents * weight, total) for weight in tenths), strict=True)
    shares, rests = list(shares), list(rests)
    while sum(shares) < cents:
        lucky = rests.index(max(rests))
        shares[lucky] += 1
        rests[lucky] = -1
    return shares


def random_bills():
    choice, bills = random.Random(20260401), []
    for _ in range(300):
        cents = choice.randint(0, 50_000)
        tenths = [choice.randint(0, 30) for _ in range(choice.randint(1, 7))] + [choice.randint(1, 9)]
        sign = choice.choice(["", "-"])
        told = [f"{sign if share else ''}{share // 100}.{share % 100:02d}" for share in by_hand(cents, tenths)]
        weights = " ".join(f"{weight // 10}.{weight % 10}" for weight in tenths)
        bills.append((f"{sign}{cents // 100}.{cents % 100:02d} {weights}", " ".join(told)))
    return bills


def right(bills):
    done = python("/app/split.py", given="".join(bill + "\n" for bill, _ in bills))
    return done.returncode == 0 and done.stdout.splitlines() == [wanted for _, wanted in bills]


checks = {title: lambda bills=bills: right(bills) for title, bills in FIXED.items()}
checks["300 bills"] = lambda: right(random_bills())
score(checks)
