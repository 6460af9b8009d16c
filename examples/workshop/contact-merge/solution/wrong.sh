#!/bin/bash
# Joins each row with the first person it fits, knows no switchboards, and guesses slash dates row by row.
cat > /app/merge.py <<'PY'
import csv
import re
import sys
from datetime import datetime

people, rejected = [], 0
for path in sys.argv[1:]:
    for row in csv.DictReader(open(path, newline="")):
        email = (row["email"] or "").strip().lower()
        email = email if re.fullmatch(r"[^@\s]+@[^@\s]*\.[^@\s]*", email) else ""
        phone = re.sub(r"[ \-./()]", "", row["phone"] or "")
        phone = "+" + phone[2:] if phone.startswith("00") else phone
        phone = phone if re.fullmatch(r"\+?\d{7,15}", phone) else ""
        if not email and not phone:
            rejected += 1
            continue
        day = ""
        for form in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y"):
            try:
                day = datetime.strptime(row["updated"] or "", form).strftime("%Y-%m-%d")
                break
            except ValueError:
                pass
        for one in people:
            if email in one["emails"] or phone in one["phones"]:
                break
        else:
            one = {"emails": set(), "phones": set(), "names": []}
            people.append(one)
        one["emails"] |= {email} - {""}
        one["phones"] |= {phone} - {""}
        one["names"].append((day, " ".join(row["name"].split())))
writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow(["name", "emails", "phones", "updated"])
rows = []
for one in people:
    day, name = max(one["names"])
    rows.append([name, ";".join(sorted(one["emails"])), ";".join(sorted(one["phones"])), day])
writer.writerows(sorted(rows))
print("rejected", rejected, file=sys.stderr)
PY
