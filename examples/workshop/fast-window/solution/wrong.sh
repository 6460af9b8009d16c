#!/bin/bash
# A queue that only moves on: fast, and wrong as soon as a line is late.
cat > /app/report.py <<'PY'
import sys
from bisect import bisect_left, insort
from collections import Counter, deque

window, buyers, amounts = deque(), Counter(), []
for line in open(sys.argv[1], encoding="utf-8"):
    fields = line.split()
    if len(fields) != 3 or not fields[0].isdecimal() or not fields[2].isdecimal():
        continue
    time, buyer, amount = int(fields[0]), fields[1], int(fields[2])
    window.append((time, buyer, amount))
    buyers[buyer] += 1
    insort(amounts, amount)
    while window[0][0] <= time - 300:
        _, old, paid = window.popleft()
        buyers[old] -= 1
        if not buyers[old]:
            del buyers[old]
        del amounts[bisect_left(amounts, paid)]
    print(time, len(amounts), len(buyers), amounts[(len(amounts) - 1) // 2], amounts[-1])
PY
