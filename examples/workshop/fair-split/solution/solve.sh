#!/bin/bash
cat > /app/split.py <<'PY'
"""Splits amounts of money by weights, to the cent."""

import re
import sys
from fractions import Fraction

BILL = re.compile(r"(-?)([0-9]+\.[0-9]{2})((?: [0-9]+(?:\.[0-9]+)?)+)")


def split(line):
    match = BILL.fullmatch(line)
    if not match:
        return "error"
    cents = int(match[2].replace(".", ""))
    weights = [Fraction(weight) for weight in match[3].split()]
    total = sum(weights)
    if not total:
        return "error"
    exact = [cents * weight / total for weight in weights]
    shares = [int(share) for share in exact]
    by_loss = sorted(range(len(exact)), key=lambda place: shares[place] - exact[place])
    for place in by_loss[: cents - sum(shares)]:
        shares[place] += 1
    return " ".join(f"{match[1] if share else ''}{share // 100}.{share % 100:02d}" for share in shares)


for line in sys.stdin:
    print(split(line.rstrip("\n")))
PY
