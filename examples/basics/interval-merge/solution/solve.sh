#!/bin/bash
cat > /app/intervals.py <<'MODULE'
"""Half-open intervals of integers: (start, end) stands for start <= n < end."""


def merge(intervals):
    """The same numbers as sorted pairs with gaps between them."""
    merged = []
    for start, end in sorted(pair for pair in intervals if pair[0] < pair[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def subtract(intervals, hole):
    """The numbers of the intervals that are not in the hole."""
    low, high = hole
    if low >= high:
        return merge(intervals)
    parts = []
    for start, end in merge(intervals):
        parts += [(start, min(end, low)), (max(start, high), end)]
    return [(start, end) for start, end in parts if start < end]


def total(intervals):
    """How many different numbers the intervals stand for."""
    return sum(end - start for start, end in merge(intervals))
MODULE
