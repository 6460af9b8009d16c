#!/bin/bash
cat > /app/report.py <<'PY'
"""What happened in the five minutes before each sale: python3 report.py FILE.

Sales are kept in the order of time. The window is the stretch of them that was counted last; its two ends move to where the
next sale wants them, and each sale that comes in or goes out changes what is counted.
"""

import sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter

WINDOW = 300


def read(path):
    for line in open(path, encoding="utf-8"):
        fields = line.split()
        if len(fields) == 3 and fields[0].isdecimal() and fields[2].isdecimal():
            yield int(fields[0]), fields[1], int(fields[2])


class Window:
    def __init__(self):
        self.times, self.sales = [], []
        self.start = self.end = 0
        self.buyers, self.amounts = Counter(), []

    def add(self, sale):
        """A new sale, outside of the window or in it, by where it stands."""
        place = bisect_right(self.times, sale[0])
        self.times.insert(place, sale[0])
        self.sales.insert(place, sale)
        if place < self.start:
            self.start += 1
            self.end += 1
        elif place < self.end:
            self.end += 1
            self.enter(sale)

    def move(self, time):
        start, end = bisect_right(self.times, time - WINDOW), bisect_right(self.times, time)
        if end <= self.start or start >= self.end:
            self.start = self.end = start
            self.buyers, self.amounts = Counter(), []
        while self.start > start:
            self.start -= 1
            self.enter(self.sales[self.start])
        while self.end < end:
            self.enter(self.sales[self.end])
            self.end += 1
        while self.start < start:
            self.leave(self.sales[self.start])
            self.start += 1
        while self.end > end:
            self.end -= 1
            self.leave(self.sales[self.end])

    def enter(self, sale):
        self.buyers[sale[1]] += 1
        insort(self.amounts, sale[2])

    def leave(self, sale):
        self.buyers[sale[1]] -= 1
        if not self.buyers[sale[1]]:
            del self.buyers[sale[1]]
        del self.amounts[bisect_left(self.amounts, sale[2])]


def main():
    window, out = Window(), []
    for sale in read(sys.argv[1]):
        window.add(sale)
        window.move(sale[0])
        amounts = window.amounts
        middle = amounts[(len(amounts) - 1) // 2]
        out.append(f"{sale[0]} {len(amounts)} {len(window.buyers)} {middle} {amounts[-1]}\n")
    sys.stdout.write("".join(out))


main()
PY
