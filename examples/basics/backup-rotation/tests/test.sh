#!/bin/bash
# Runs rotate.sh on folders that the agent has not seen.
set -u
export LC_ALL=C.UTF-8
mkdir -p /logs/verifier
if python3 -I -B /tests/judge.py; then reward=1; else reward=0; fi
rm -f /logs/verifier/reward.txt /logs/verifier/reward.json
echo "$reward" > /logs/verifier/reward.txt
