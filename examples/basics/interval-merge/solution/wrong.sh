#!/bin/bash
# Makes check.py quiet, and forgets intervals inside others, empty ones and ones that touch.
cat > /app/intervals.py <<'MODULE'
def merge(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def subtract(intervals, hole):
    left = []
    for start, end in merge(intervals):
        if end <= hole[0] or start >= hole[1]:
            left.append((start, end))
            continue
        if hole[0] > start:
            left.append((start, hole[0]))
        if hole[1] < end:
            left.append((hole[1], end))
    return left


def total(intervals):
    return sum(end - start for start, end in merge(intervals))
MODULE
