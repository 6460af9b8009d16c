"""Runs /app/semver.py on versions that the agent has not seen. Orders are written down here, not computed."""

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

ASCENDING = """0.0.0-0 0.0.0 0.0.1 0.9.10 0.10.9 1.0.0--1 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta
1.0.0-beta.2 1.0.0-beta.11 1.0.0-beta.11.0 1.0.0-rc.1 1.0.0 1.0.1-0 1.0.1-9 1.0.1-10 1.0.1-100 1.0.1--- 1.0.1-0a 1.0.1-A
1.0.1-a 1.0.1-a.0 1.0.1-a-b 1.0.1-aa 1.0.1 2.0.0 10.0.0 99999999999999999999.0.0""".split()
NOT_VERSIONS = [
    "1.0",
    "1.0.0.0",
    "01.0.0",
    "1.0.0-01",
    "1.0.0-",
    "1.0.0+",
    "1.0.0-a..b",
    "1.0.0+a+b",
    "v1.0.0",
    " 1.0.0",
    "1.0.0 ",
    "1.0.0-\u00e4",
    "1.0.\u0663",
    "-1.0.0",
    "1.0.0-a_b",
    "",
    "1.0.0-a.",
    "1..0",
]
ALL = (
    "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0 1.2.2 1.2.3-rc.1 1.2.3 1.2.10 1.3.0 1.10.0 2.0.0-rc.1 2.0.0 2.0.1+x 3.0.0-1".split()
)
RANGES = {
    ">=1.2.3 <2.0.0": "1.2.3 1.2.10 1.3.0 1.10.0",
    "^1.2.3": "1.2.3 1.2.10 1.3.0 1.10.0",
    "^0.2.3": "0.2.3 0.2.9",
    "^0.0.3": "0.0.3",
    "~1.2.3": "1.2.3 1.2.10",
    "~0.0.3": "0.0.3 0.0.4",
    ">=1.2.3-beta <1.3.0": "1.2.3-rc.1 1.2.3 1.2.10",
    "^1.2.3-rc.1": "1.2.3-rc.1 1.2.3 1.2.10 1.3.0 1.10.0",
    "^1.2.3-rc.2": "1.2.3 1.2.10 1.3.0 1.10.0",
    "<=2.0.0-rc.1 >1.3.0": "1.10.0 2.0.0-rc.1",
    ">1.0.0 <2.0.0-z": "1.2.2 1.2.3 1.2.10 1.3.0 1.10.0 2.0.0-rc.1",
    "=2.0.1+y": "2.0.1+x",
    ">2.0.0": "2.0.1+x",
    ">=3.0.0 <1.0.0": "",
    "^0.0.0": "",
}


def asked(lines, *arguments):
    return python("/app/semver.py", *arguments, given="".join(f"{line}\n" for line in lines))


def sorts():
    choice, good = random.Random(20260403), True
    for _ in range(5):
        done = asked(choice.sample(ASCENDING, k=len(ASCENDING)), "sort")
        good = good and done.returncode == 0 and done.stdout.split() == ASCENDING
    return good


def keeps_order():
    given = ["1.0.0+b", "1.0.0-x+2", "1.0.0+a", "1.0.0", "1.0.0-x+1", "1.0.0+001"]
    wanted = ["1.0.0-x+2", "1.0.0-x+1", "1.0.0+b", "1.0.0+a", "1.0.0", "1.0.0+001"]
    return asked(given, "sort").stdout.split() == wanted


def is_refused(line):
    done = asked(["1.0.0", line, "also wrong"], "sort")
    return (done.returncode, done.stdout, done.stderr.strip()) == (2, "", "line 2")


def matched(text, wanted):
    backwards = asked(ALL[::-1], "match", text)
    return backwards.returncode == 0 and backwards.stdout.split() == wanted.split()[::-1]


checks = {
    "order": sorts,
    "equal precedence": keeps_order,
    "no input": lambda: asked([], "sort").stdout == "" and asked([], "sort").returncode == 0,
    "what is no version": lambda: all([is_refused(line) for line in NOT_VERSIONS]),
    "what is no range": lambda: all(
        [
            asked(["1.0.0"], "match", text).returncode == 3
            for text in ("", "1.0.0", ">=1.0", "> 1.0.0", "^1.0.0  <2.0.0", "!=1.0.0")
        ]
    ),
}
checks |= {text: lambda pair=(text, wanted): matched(*pair) for text, wanted in RANGES.items()}
score(checks)
