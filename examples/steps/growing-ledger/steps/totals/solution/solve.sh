#!/bin/bash
cat > /app/ledger.py <<'PY'
"""Sums of a ledger by account."""

import re
import sys
from datetime import date
from decimal import Decimal

AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]{1,2})?")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def entry(line):
    day, account, amount = (field.strip() for field in line.split(","))
    if not DATE.fullmatch(day) or not account or not AMOUNT.fullmatch(amount):
        raise ValueError(line)
    date.fromisoformat(day)
    return account, Decimal(amount)


def main():
    sums = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                account, amount = entry(line)
            except ValueError:
                sys.exit(print(f"line {number} is wrong", file=sys.stderr) or 2)
            sums[account] = sums.get(account, 0) + amount
    for account, total in sorted(sums.items()):
        print(account, f"{total or Decimal(0):.2f}")


main()
PY
