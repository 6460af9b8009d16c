"""Runs /app/cron.py. Single cases are written down; random ones are searched for, minute by minute."""

import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

FROM = "2026-03-01 12:00"  # a Sunday
CASES = {
    "each minute": ("* * * * *", "2026-12-31 23:58", 3, "2026-12-31 23:59, 2027-01-01 00:00, 2027-01-01 00:01"),
    "never the given time": ("0 12 * * *", FROM, 1, "2026-03-02 12:00"),
    "lists and ranges": ("5,10-12 1,3 * * *", "2026-03-01 01:10", 4, "2026-03-01 01:11, 2026-03-01 01:12, 2026-03-01 03:05, 2026-03-01 03:10"),
    "steps": ("*/25 10-20/5 * * *", "2026-03-01 10:26", 4, "2026-03-01 10:50, 2026-03-01 15:00, 2026-03-01 15:25, 2026-03-01 15:50"),
    "steps from a value": ("50/4 0 1 11/1 *", FROM, 4, "2026-11-01 00:50, 2026-11-01 00:54, 2026-11-01 00:58, 2026-12-01 00:50"),
    "spaces and zeros": ("  05   007 *  * * ", FROM, 1, "2026-03-02 07:05"),
    "names": ("0 0 1 JAN,Jul-aug *", FROM, 3, "2026-07-01 00:00, 2026-08-01 00:00, 2027-01-01 00:00"),
    "Sunday is 0 and 7": ("0 0 * * 0,7", FROM, 2, "2026-03-08 00:00, 2026-03-15 00:00"),
    "Friday to Sunday": ("0 0 * * fri-sun", FROM, 4, "2026-03-06 00:00, 2026-03-07 00:00, 2026-03-08 00:00, 2026-03-13 00:00"),
    "Sunday to Monday": ("0 0 * * sun-mon", FROM, 3, "2026-03-02 00:00, 2026-03-08 00:00, 2026-03-09 00:00"),
    "every third day of the week": ("0 0 * * */3", FROM, 4, "2026-03-04 00:00, 2026-03-07 00:00, 2026-03-08 00:00, 2026-03-11 00:00"),
    "steps from a day": ("0 0 * * 5/1", FROM, 3, "2026-03-06 00:00, 2026-03-07 00:00, 2026-03-13 00:00"),
    "either day": ("0 0 13 * fri", FROM, 4, "2026-03-06 00:00, 2026-03-13 00:00, 2026-03-20 00:00, 2026-03-27 00:00"),
    "either, in a month": ("0 0 1 6 mon", FROM, 3, "2026-06-01 00:00, 2026-06-08 00:00, 2026-06-15 00:00"),
    "both with a star in the month": ("0 0 */2 * mon", FROM, 3, "2026-03-09 00:00, 2026-03-23 00:00, 2026-04-13 00:00"),
    "both with a star in the week": ("0 0 13 * */5", FROM, 3, "2026-03-13 00:00, 2026-09-13 00:00, 2026-11-13 00:00"),
    "a list with a star": ("0 0 13 * *,5", FROM, 2, "2026-03-13 00:00, 2026-04-13 00:00"),
    "the last day": ("0 0 L * *", "2027-12-31 00:00", 4, "2028-01-31 00:00, 2028-02-29 00:00, 2028-03-31 00:00, 2028-04-30 00:00"),
    "the last and the tenth": ("0 0 l,10 2 *", FROM, 2, "2027-02-10 00:00, 2027-02-28 00:00"),
    "the last day or a Monday": ("0 0 L * 1", FROM, 6, "2026-03-02 00:00, 2026-03-09 00:00, 2026-03-16 00:00, 2026-03-23 00:00, 2026-03-30 00:00, 2026-03-31 00:00"),
    "the second Friday": ("0 12 * * fri#2", FROM, 2, "2026-03-13 12:00, 2026-04-10 12:00"),
    "the fifth Sunday": ("0 0 * * 7#5", FROM, 2, "2026-03-29 00:00, 2026-05-31 00:00"),
    "the first Monday and Wednesdays": ("0 0 * 4 mon#1,3", FROM, 3, "2026-04-01 00:00, 2026-04-06 00:00, 2026-04-08 00:00"),
    "leap days": ("0 0 29 2 *", FROM, 3, "2028-02-29 00:00, 2032-02-29 00:00, 2036-02-29 00:00"),
    "a leap day over a century": ("0 0 29 feb */7", "2088-03-01 00:00", 1, "2128-02-29 00:00"),
    "the fifth Monday of a February": ("59 23 * 2 mon#5", "2072-03-01 00:00", 1, "2112-02-29 23:59"),
    "never": ("0 0 30 2 *", FROM, 1, None),
    "never, in four months": ("0 0 31 4,6,9,11 *", FROM, 2, None),
}  # fmt: skip
WRONG = """* * * *|* * * * * *|60 * * * *|* 24 * * *|* * 0 * *|* * 32 * *|* * * 13 *|* * * 0 *|* * * * 8|*/0 * * * *|5-3 * * * *
, * * * *|1, * * * *|-1 * * * *|1- * * * *|1-2-3 * * * *|*-5 * * * *|a * * * *|* * * mon *|* * * * jan|* * * * monday|L * * * *
* * * * L|* * 1#2 * *|* * * * 1#0|* * * * 1#6|* * * * 1#|* * * * 8#1|1/ * * * *|1//2 * * * *|1.5 * * * *|* * * * sat-mon|@daily|"""


def asked(expression, after, *count):
    return python("/app/cron.py", expression, after, *map(str, count), seconds=15)


def case(expression, after, count, wanted):
    done = asked(expression, after, count)
    if wanted is None:
        return (done.returncode, done.stdout) == (1, "never\n")
    return done.returncode == 0 and done.stdout.splitlines() == wanted.split(", ")


def refused():
    forms = [(expression, FROM) for line in WRONG.splitlines() for expression in line.split("|")]
    forms += [
        ("* * * * *", time)
        for time in ("2026-03-01", "2026-02-29 00:00", "2026-03-01T12:00", "2026-03-01 24:00", "now")
    ]
    done = [(form, asked(*form)) for form in forms]
    bad = [form for form, one in done if (one.returncode, one.stdout) != (2, "")]
    print("not refused:", bad)
    return not bad


def at_random():
    """Plain values only, so that this file needs no parser."""
    choice = random.Random(20260405)
    for _ in range(12):
        tops = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
        picked = [sorted(choice.sample(range(low, high + 1), k=choice.randint(2, 6))) for low, high in tops]
        stars = [choice.random() < 0.4 for _ in tops]
        expression = " ".join(
            "*" if star else ",".join(map(str, some)) for star, some in zip(stars, picked, strict=True)
        )
        sets = [set(range(60)) if star else set(some) for star, some in zip(stars, picked, strict=True)]
        either = not stars[2] and not stars[4]
        moment, wanted = datetime(2026, choice.randint(1, 12), 28, 23, 0), []
        start = moment.strftime("%Y-%m-%d %H:%M")
        while len(wanted) < 5:
            moment += timedelta(minutes=1)
            days = (moment.day in sets[2], moment.isoweekday() % 7 in sets[4])
            if moment.month not in sets[3] or not (any(days) if either else all(days)):
                moment = moment.replace(hour=23, minute=59)
            elif moment.hour in sets[1] and moment.minute in sets[0]:
                wanted.append(moment.strftime("%Y-%m-%d %H:%M"))
        if asked(expression, start, 5).stdout.splitlines() != wanted:
            print(expression, start)
            return False
    return True


checks = {title: lambda one=one: case(*one) for title, one in CASES.items()}
checks["one time without a count"] = lambda: asked("0 0 * * *", FROM).stdout == "2026-03-02 00:00\n"
score({**checks, "other forms": refused, "random expressions": at_random})
