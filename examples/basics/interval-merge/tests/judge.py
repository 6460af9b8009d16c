"""Compares /app/intervals.py with sets of integers. The module runs in a process of its own. Exit code 0: right."""

import json
import random
import subprocess
import sys

DRIVER = """
import copy, json, sys
sys.path.insert(0, "/app")
import intervals
answers = []
for name, arguments in json.load(sys.stdin):
    arguments = [[tuple(pair) for pair in arguments[0]], *(tuple(pair) for pair in arguments[1:])]
    before = copy.deepcopy(arguments)
    answer = getattr(intervals, name)(*arguments)
    answers.append([answer, arguments == before])
print()
print(json.dumps(answers))
"""


def numbers(pairs):
    return {number for start, end in pairs for number in range(start, end)}


def pairs_of(wanted):
    """The sorted pairs with gaps between them that stand for a set of integers."""
    pairs = []
    for number in sorted(wanted):
        if pairs and pairs[-1][1] == number:
            pairs[-1][1] = number + 1
        else:
            pairs.append([number, number + 1])
    return pairs


def wanted(name, arguments):
    found = numbers(arguments[0])
    if name == "total":
        return len(found)
    return pairs_of(found - numbers(arguments[1:]))


def cases():
    fixed = [
        ("merge", [[]]),
        ("merge", [[(1, 1), (5, 2)]]),
        ("merge", [[(0, 10), (2, 3)]]),
        ("merge", [[(0, 2), (2, 4)]]),
        ("subtract", [[(0, 10)], (5, 5)]),
        ("subtract", [[(0, 10)], (7, 3)]),
        ("subtract", [[(0, 10)], (-5, 50)]),
        ("total", [[(3, 1), (0, 2), (0, 2)]]),
    ]
    choice = random.Random(20260301)

    def pair():
        start = choice.randint(-20, 20)
        return start, start + choice.randint(-3, 8)

    for _ in range(200):
        pairs = [pair() for _ in range(choice.randint(0, 7))]
        fixed += [("merge", [pairs]), ("subtract", [pairs, pair()]), ("total", [pairs])]
    return fixed


def main():
    asked = cases()
    ran = subprocess.run(
        [sys.executable, "-I", "-B", "-c", DRIVER], input=json.dumps(asked), capture_output=True, timeout=20, text=True
    )
    try:
        answers = json.loads(ran.stdout.splitlines()[-1])
        verdicts = [
            answer == wanted(name, arguments) and unchanged is True
            for (name, arguments), (answer, unchanged) in zip(asked, answers, strict=True)
        ]
    except (ValueError, IndexError, TypeError):
        print("intervals.py gave no answers:", ran.stderr[-500:])
        return 1
    print(f"{sum(verdicts)} of {len(verdicts)} cases are right")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
