"""Half-open intervals of integers: (start, end) stands for start <= n < end."""


def merge(intervals):
    """The same numbers as sorted pairs with gaps between them."""
    merged = []
    for start, end in intervals:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def subtract(intervals, hole):
    """The numbers of the intervals that are not in the hole."""
    left = []
    for start, end in merge(intervals):
        if hole[0] > start:
            left.append((start, hole[0]))
        if hole[1] < end:
            left.append((hole[1], end))
    return left


def total(intervals):
    """How many different numbers the intervals stand for."""
    return sum(end - start for start, end in intervals)
