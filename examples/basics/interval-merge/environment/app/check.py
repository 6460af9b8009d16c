"""Some of what intervals.py must do. Prints each case that is wrong."""

from intervals import merge, subtract, total

CASES = [
    (merge, ([(1, 3), (2, 5)],), [(1, 5)]),
    (merge, ([(4, 6), (1, 2)],), [(1, 2), (4, 6)]),
    (subtract, ([(0, 10)], (3, 5)), [(0, 3), (5, 10)]),
    (subtract, ([(0, 2), (8, 9)], (3, 5)), [(0, 2), (8, 9)]),
    (total, ([(0, 4), (2, 6)],), 6),
]

for function, arguments, wanted in CASES:
    got = function(*arguments)
    if got != wanted:
        print(f"{function.__name__}{arguments} gave {got}, wanted {wanted}")
