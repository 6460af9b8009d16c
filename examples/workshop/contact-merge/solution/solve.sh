#!/bin/bash
cat > /app/merge.py <<'PY'
"""One list of contacts out of several."""

import csv
import re
import sys
from datetime import date

SLASHES = re.compile(r"([0-9]{2})/([0-9]{2})/([0-9]{4})")


def email_of(text):
    text = text.strip().lower()
    user, at, host = text.partition("@")
    good = user and at and "@" not in host and "." in host and not re.search(r"\s", text)
    return text if good else ""


def phone_of(text):
    text = re.sub(r"[\s\-./()]", "", text)
    text = re.sub("^00", "+", text)
    return text if re.fullmatch(r"\+?[0-9]{7,15}", text) else ""


def day_of(text, order):
    text = text.strip()
    if match := re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", text):
        year, month, day = match.groups()
    elif match := re.fullmatch(r"([0-9]{2})\.([0-9]{2})\.([0-9]{4})", text):
        day, month, year = match.groups()
    elif (match := SLASHES.fullmatch(text)) and order:
        day, month, year = match.groups() if order == "day" else (match[2], match[1], match[3])
    else:
        return ""
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""


def order_of(rows):
    found = [match for row in rows if len(row) == 4 and (match := SLASHES.fullmatch(row[3].strip()))]
    day, month = any(int(m[1]) > 12 for m in found), any(int(m[2]) > 12 for m in found)
    return None if day == month else "day" if day else "month"


def read(paths):
    good, rejected = [], 0
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row][1:]
        order = order_of(rows)
        for row in rows:
            if len(row) == 4:
                clean = (" ".join(row[0].split()), email_of(row[1]), phone_of(row[2]), day_of(row[3], order))
            if len(row) != 4 or not (clean[1] or clean[2]):
                rejected += 1
            else:
                good.append(clean)
    return good, rejected


def people(rows):
    used = {}
    for _, email, phone, _ in rows:
        used.setdefault(phone, set()).update([email] if email else [])
    boss = list(range(len(rows)))

    def find(place):
        while boss[place] != place:
            place = boss[place]
        return place

    first = {}
    for place, (_, email, phone, _) in enumerate(rows):
        for kind, value in (("e", email), ("p", phone)):
            if value and (kind == "e" or len(used[phone]) <= 2):
                boss[find(place)] = find(first.setdefault((kind, value), place))
    groups = {}
    for place, row in enumerate(rows):
        groups.setdefault(find(place), []).append(row)
    return groups.values()


def main():
    rows, rejected = read(sys.argv[1:])
    merged = []
    for group in people(rows):
        named = [(row[3], place, row[0]) for place, row in enumerate(group) if row[0]]
        merged.append((
            max(named)[2] if named else "",
            ";".join(sorted({row[1] for row in group if row[1]})),
            ";".join(sorted({row[2] for row in group if row[2]})),
            max(row[3] for row in group),
        ))
    sys.stdout.reconfigure(encoding="utf-8", newline="")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["name", "emails", "phones", "updated"])
    writer.writerows(sorted(merged))
    print("rejected", rejected, file=sys.stderr)


main()
PY
