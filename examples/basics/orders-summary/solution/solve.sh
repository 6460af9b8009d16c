#!/bin/bash
python3 - <<'PROGRAM'
import csv
import json
from decimal import Decimal

with open("/app/customers.csv", encoding="utf-8-sig", newline="") as file:
    names = {row["customer_id"]: row["name"] for row in csv.DictReader(file)}
orders = {}
with open("/app/orders.jsonl", encoding="utf-8") as file:
    for line in filter(str.strip, file):
        order = json.loads(line, parse_float=Decimal)
        orders[order["order_id"]] = order

counts = dict.fromkeys(names, 0)
totals = dict.fromkeys(names, Decimal(0))
sign = {"paid": 1, "refunded": -1}
for order in orders.values():
    customer, status = order["customer_id"], order["status"]
    if customer in names and status in sign:
        counts[customer] += 1
        totals[customer] += sign[status] * Decimal(order["amount"])

summary = [
    {"customer_id": customer, "name": name, "orders": counts[customer], "total": f"{totals[customer]:.2f}"}
    for customer, name in names.items()
]
summary.sort(key=lambda row: (-Decimal(row["total"]), row["customer_id"]))
with open("/app/summary.json", "w", encoding="utf-8") as file:
    json.dump(summary, file, ensure_ascii=False, indent=1)
PROGRAM
