"""Compares /app/summary.json with totals worked out from the data in /tests/data. Exit code 0: right."""

import csv
import json
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"
SIGN = {"paid": 1, "refunded": -1}


def cents(amount):
    whole, _, part = str(amount).partition(".")
    return int(whole) * 100 + int(part.ljust(2, "0"))


def as_text(total):
    sign = "-" if total < 0 else ""
    return f"{sign}{abs(total) // 100}.{abs(total) % 100:02d}"


def wanted():
    with (DATA / "customers.csv").open(encoding="utf-8-sig", newline="") as file:
        names = {row["customer_id"]: row["name"] for row in csv.DictReader(file)}
    last = {}
    for line in (DATA / "orders.jsonl").read_text(encoding="utf-8").splitlines():
        if line.strip():
            order = json.loads(line, parse_float=str)
            last[order["order_id"]] = order
    found = {customer: [] for customer in names}
    for order in last.values():
        if order["customer_id"] in found and order["status"] in SIGN:
            found[order["customer_id"]].append(SIGN[order["status"]] * cents(order["amount"]))
    ranked = sorted(names, key=lambda customer: (-sum(found[customer]), customer))
    return [
        {
            "customer_id": customer,
            "name": names[customer],
            "orders": len(found[customer]),
            "total": as_text(sum(found[customer])),
        }
        for customer in ranked
    ]


def main():
    try:
        got = json.loads(Path("/app/summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print("summary.json can't be read:", error)
        return 1
    right = wanted()
    if got == right:
        print("right")
        return 0
    rows = got if isinstance(got, list) else []
    print(
        "WRONG; first difference:",
        next((pair for pair in zip(right, rows, strict=False) if pair[0] != pair[1]), "the length"),
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
