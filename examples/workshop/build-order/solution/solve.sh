#!/bin/bash
cat > /app/order.py <<'PY'
"""The order in which packages are built."""

import heapq
import re
import sys

LINE = re.compile(r" *([A-Za-z0-9_-]+) *:((?: +[A-Za-z0-9_-]+)*) *")


def read(path):
    needs = {}
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n").partition("#")[0]
        if not line.strip(" "):
            continue
        match = LINE.fullmatch(line)
        if not match:
            sys.exit(2)
        needs.setdefault(match[1], set()).update(match[2].split())
        for name in match[2].split():
            needs.setdefault(name, set())
    return needs


def peeled(needs):
    """The packages in order, as far as it goes; ties by name."""
    users = {name: [] for name in needs}
    for name, wanted in needs.items():
        for other in wanted:
            users[other].append(name)
    missing = {name: len(wanted) for name, wanted in needs.items()}
    ready = [name for name, count in missing.items() if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for user in users[order[-1]]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, user)
    return order


def reaches_itself(start, needs):
    seen, todo = set(), list(needs[start])
    while todo:
        name = todo.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            todo += needs[name]
    return False


needs = read(sys.argv[1])
order = peeled(needs)
if len(order) < len(needs):
    left = {name: needs[name] - set(order) for name in needs.keys() - set(order)}
    print("cycle:", *sorted(name for name in left if reaches_itself(name, left)), file=sys.stderr)
    sys.exit(1)
print("\n".join(order))
PY
