#!/bin/bash
# Shared by all steps; each brings its own judge.py, which prints the reward's JSON as its last line.
set -u
export LC_ALL=C.UTF-8
mkdir -p /logs/verifier
said=$(python3 -I -B /tests/judge.py /tests/cases.py)
echo "$said"
rm -f /logs/verifier/reward.txt /logs/verifier/reward.json
tail -n 1 <<< "$said" > /logs/verifier/reward.json
