#!/bin/bash
# The judge prints the rewards as its last line; they are written when nothing else is left to do.
set -u
export LC_ALL=C.UTF-8
mkdir -p /logs/verifier
said=$(python3 -I -S -B /tests/judge.py)  # no packages, so that only the judge brings a scoring.py
echo "$said"
rm -f /logs/verifier/reward.txt /logs/verifier/reward.json
tail -n 1 <<< "$said" > /logs/verifier/reward.json
