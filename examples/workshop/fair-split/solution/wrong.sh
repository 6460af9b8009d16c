#!/bin/bash
# Rounds in floating point and lets the last one pay the difference.
cat > /app/split.py <<'PY'
import sys

for line in sys.stdin:
    try:
        amount, *weights = (float(word) for word in line.split())
        shares = [round(amount * weight / sum(weights), 2) for weight in weights]
        shares[-1] += round(amount - sum(shares), 2)
        print(" ".join(f"{share:.2f}" for share in shares))
    except (ValueError, ZeroDivisionError, IndexError):
        print("error")
PY
