"""What happened in the five minutes before each sale: python3 report.py FILE."""

import sys

WINDOW = 300


def read(path):
    for line in open(path, encoding="utf-8"):
        fields = line.split()
        if len(fields) == 3 and fields[0].isdecimal() and fields[2].isdecimal():
            yield int(fields[0]), fields[1], int(fields[2])


def main():
    rows = []
    for row in read(sys.argv[1]):
        rows.append(row)
        time = row[0]
        window = [one for one in rows if time - WINDOW < one[0] <= time]
        buyers = {one[1] for one in window}
        amounts = sorted(one[2] for one in window)
        middle = amounts[(len(amounts) - 1) // 2]
        print(time, len(window), len(buyers), middle, amounts[-1])


main()
