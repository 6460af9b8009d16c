"""Runs /app/order.py on files that the agent has not seen; for random ones the order is searched for step by step."""

import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

CASES = {
    "the first name that can be built": ("b: z\na:\nz:\nc: a\n", "a c z b", None, 0),
    "names sort by code points": ("a_b:\na-b:\nB:\na1:\n", "B a-b a1 a_b", None, 0),
    "no line of its own": ("a: b c\n", "b c a", None, 0),
    "several lines": ("a: b\nb:\na: c b c\n", "b c a", None, 0),
    "comments and spaces": ("# a: x\n\n  a :  b   # and: more\nb:#\n", "b a", None, 0),
    "nothing": ("# nothing\n", "", None, 0),
    "a cycle": ("a: b\nb: c\nc: a\nd:\n", "", "cycle: a b c", 1),
    "what depends on a cycle is not on it": ("a: b\nb: a c\nc:\nx: a\ny: x\n", "", "cycle: a b", 1),
    "what lies between two cycles": ("a: b\nb: a m\nm: n\nn: x\nx: y\ny: x\n", "", "cycle: a b x y", 1),
    "depends on itself": ("s: s\nt: s\n", "", "cycle: s", 1),
    "no colon": ("a: b\nb\n", "", None, 2),
    "no name": (": a\n", "", None, 2),
    "another character": ("a: b,c\n", "", None, 2),
    "two names": ("a b: c\n", "", None, 2),
    "two colons": ("a: b: c\n", "", None, 2),
}


def order(text, seconds=20):
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "some packages.txt"
        file.write_text(text)
        return python("/app/order.py", str(file), seconds=seconds)


def case(text, words, told, code):
    done = order(text)
    good = done.returncode == code and done.stdout.split() == words.split()
    return good and (told is None or done.stderr.splitlines() == [told])


def searched(needs):
    built = []
    while len(built) < len(needs):
        built.append(min(name for name in needs if name not in built and set(needs[name]) <= set(built)))
    return built


def at_random():
    choice, good = random.Random(20260402), True
    for _ in range(12):
        names = [f"p{number}" for number in range(40)]
        choice.shuffle(names)
        needs = {
            name: choice.sample(names[:place], k=choice.randint(0, min(3, place))) for place, name in enumerate(names)
        }
        lines = [f"{name}: {' '.join(needs[name])}\n" for name in choice.sample(names, k=len(names))]
        done = order("".join(lines))
        good = good and done.returncode == 0 and done.stdout.split() == searched(needs)
    return good


def a_long_chain():
    names = [f"p{number:05d}" for number in range(20_000)]
    lines = [f"{user}: {needed}\n" for user, needed in zip(names, names[1:], strict=False)]
    return order("".join(lines)).stdout.split() == names[::-1]


checks = {title: lambda one=one: case(*one) for title, one in CASES.items()}
score({**checks, "random packages": at_random, "a long chain": a_long_chain})
