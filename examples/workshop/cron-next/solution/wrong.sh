#!/bin/bash
# Every restricted field must fit, minute by minute for four years; L and # are split off by hand.
cat > /app/cron.py <<'PY'
import sys
from datetime import datetime, timedelta

MONTHS = "x jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat sun".split()


def parse(text, low, high, names=()):
    found = set()
    for part in text.lower().split(","):
        part, _, step = part.partition("/")
        first, _, last = part.partition("-")
        def number(word):
            value = names.index(word) if word in names else int(word)
            if not low <= value <= high:
                raise ValueError(word)
            return value
        if part == "*":
            start, end = low, high
        else:
            start = number(first)
            end = number(last) if last else high if step else start
        found.update(range(start, end + 1, int(step or 1)))
    return found


try:
    minute, hour, day, month, week = sys.argv[1].split()
    now = datetime.strptime(sys.argv[2], "%Y-%m-%d %H:%M")
    nth = None
    if "#" in week:
        week, nth = week.split("#")
    last = day == "L"
    minutes, hours = parse(minute, 0, 59), parse(hour, 0, 23)
    days = parse("28-31" if last else day, 1, 31)
    months, weeks = parse(month, 1, 12, MONTHS), {value % 7 for value in parse(week, 0, 7, DAYS)}
except ValueError:
    sys.exit(2)
left = int(sys.argv[3]) if len(sys.argv) > 3 else 1
end = now + timedelta(days=4 * 366)
while left and now < end:
    now += timedelta(minutes=1)
    if now.month not in months or now.day not in days:
        now = now.replace(hour=23, minute=59)
        continue
    if now.hour in hours and now.minute in minutes and now.isoweekday() % 7 in weeks:
        if nth and (now.day + 6) // 7 != int(nth) or last and (now + timedelta(1)).day != 1:
            continue
        print(now.strftime("%Y-%m-%d %H:%M"))
        left -= 1
if left:
    print("never")
    sys.exit(1)
PY
