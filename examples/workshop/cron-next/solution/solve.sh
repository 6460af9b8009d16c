#!/bin/bash
cat > /app/cron.py <<'PY'
"""When a cron expression fires next."""

import re
import sys
from datetime import date, datetime, timedelta

MONTHS = {name: place for place, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)}
DAYS = {name: place for place, name in enumerate("sun mon tue wed thu fri sat".split())}
FIELDS = ((0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, MONTHS), (0, 7, DAYS))
PART = re.compile(r"(?:\*|([0-9]+|[a-z]+)(?:-([0-9]+|[a-z]+))?)(?:/([0-9]+))?")
CYCLE = 146_097
"""Days after which the calendar repeats itself, days of the week included."""


class Wrong(Exception):
    pass


def number(text, names, low, high):
    value = names.get(text, int(text) if text.isdigit() else -1)
    if not low <= value <= high:
        raise Wrong(text)
    return value


def values(text, place):
    """The plain values of a field, and what only the calendar can tell."""
    low, high, names = FIELDS[place]
    found, special = set(), set()
    for part in text.lower().split(","):
        if place == 2 and part == "l":
            special.add("last")
            continue
        if place == 4 and (match := re.fullmatch(r"([0-9]|[a-z]+)#([1-5])", part)):
            special.add((number(match[1], names, low, high) % 7, int(match[2])))
            continue
        match = PART.fullmatch(part)
        if not match:
            raise Wrong(part)
        first, last, step = match.groups()
        if step is not None and not int(step):
            raise Wrong(part)
        top = 6 if place == 4 else high
        if first is None:
            start, end = low, top
        else:
            start = number(first, names, low, high)
            end = (max(start, top) if step else start) if last is None else number(last, names, low, high)
            if last == "sun":
                end = 7
        if start > end:
            raise Wrong(part)
        found.update(range(start, end + 1, int(step or 1)))
    return ({value % 7 for value in found} if place == 4 else found), special


def day_fits(day, fields, parsed):
    if day.month not in parsed[3][0]:
        return False
    plain, last = parsed[2]
    of_month = day.day in plain or bool(last) and (day + timedelta(1)).day == 1
    plain, nth = parsed[4]
    weekday = day.isoweekday() % 7
    of_week = weekday in plain or (weekday, (day.day + 6) // 7) in nth
    if fields[2][0] == "*" or fields[4][0] == "*":
        return of_month and of_week
    return of_month or of_week


def times(fields, parsed, after):
    minutes = [(hour, minute) for hour in sorted(parsed[1][0]) for minute in sorted(parsed[0][0])]
    last = day = after.date()
    while (day - last).days <= CYCLE:
        if day_fits(day, fields, parsed):
            last = day
            for hour, minute in minutes:
                moment = datetime(day.year, day.month, day.day, hour, minute)
                if moment > after:
                    yield moment
        day += timedelta(1)


def main():
    fields = sys.argv[1].strip(" ").split()
    try:
        if len(fields) != 5 or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}", sys.argv[2]):
            raise Wrong
        after = datetime.strptime(sys.argv[2], "%Y-%m-%d %H:%M")
        parsed = [values(text, place) for place, text in enumerate(fields)]
    except (Wrong, ValueError):
        sys.exit(2)
    found = times(fields, parsed, after)
    for count in range(int(sys.argv[3]) if len(sys.argv) > 3 else 1):
        moment = next(found, None)
        if moment is None:
            sys.exit(print("never") or 1)
        print(moment.strftime("%Y-%m-%d %H:%M"))


main()
PY
