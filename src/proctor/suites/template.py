"""``proctor task new``: a task folder that works as it stands, with comments that say what to change."""

from __future__ import annotations

import os
import re
from pathlib import Path

from proctor.kernel.errors import UsageError
from proctor.kernel.paths import writing
from proctor.suites.errors import TaskExists

__all__ = ["write_task"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")

_CONFIG = """\
# What each key means: docs/reference/task-format.md. Everything below is read by Harbor too, but for
# [metadata.proctor], which Harbor leaves alone.
schema_version = "1.4"

[task]
name = "my-organisation/@NAME@"
description = "One sentence for lists and reports."
authors = [{ name = "Your Name" }]
keywords = []

[metadata]
difficulty = "easy"

[metadata.proctor]
# The verifier sees the agent's final files in a new sandbox, where nothing is running any more.
verification = "snapshot"
# pass_threshold = 1.0       # the reward from which on the task counts as passed
# primary_reward = "reward"  # which reward that is, if reward.json has several

[metadata.proctor.local]
# Lets the task run without an image: tools that must be on the machine, and what is copied where.
tools = ["bash", "python3"]
copy = { "app" = "/app" }

[agent]
timeout_sec = 300.0

[verifier]
timeout_sec = 60.0

[environment]
cpus = 1
memory_mb = 512
storage_mb = 1024
network_mode = "no-network"
workdir = "/app"
"""

_INSTRUCTION = """\
`/app/numbers.txt` holds one whole number a line. Write `/app/sum.sh`:

    bash /app/sum.sh FILE

prints the sum of the numbers in FILE, on one line. Empty lines mean nothing. Your script is run on files that you
have not seen.
"""

_DOCKERFILE = """\
FROM debian:12
RUN apt-get update \\
    && apt-get install -y --no-install-recommends python3 \\
    && rm -rf /var/lib/apt/lists/*
COPY app/ /app/
WORKDIR /app
"""

_TEST = """\
#!/bin/bash
# Runs when the agent is done, with this folder at /tests. The reward goes to /logs/verifier/reward.txt (one
# number) or reward.json (several, by name); the exit code means nothing. Use what the agent has not seen.
set -u
mkdir -p /logs/verifier /tmp/judge
reward=1

check() { # check NUMBERS SUM
    printf -- "$1" > /tmp/judge/numbers.txt
    if [ "$(timeout 10 bash /app/sum.sh /tmp/judge/numbers.txt)" != "$2" ]; then
        echo "WRONG: $1"
        reward=0
    fi
}

check '1\\n2\\n3\\n' 6
check '-5\\n\\n5\\n' 0
check '1000000000000\\n1\\n' 1000000000001
check '' 0

rm -f /logs/verifier/reward.txt /logs/verifier/reward.json
echo "$reward" > /logs/verifier/reward.txt
"""

_SOLVE = """\
#!/bin/bash
# The reference solution: the verifier must say yes. `proctor task try FOLDER` runs this and wrong.sh.
cat > /app/sum.sh <<'SCRIPT'
#!/bin/bash
sum=0
while read -r number || [ -n "$number" ]; do
    sum=$((sum + ${number:-0}))
done < "$1"
echo "$sum"
SCRIPT
"""

_WRONG = """\
#!/bin/bash
# A solution that looks right and is not: the verifier must say no. This one fails on empty lines.
cat > /app/sum.sh <<'SCRIPT'
#!/bin/bash
python3 -c 'import sys; print(sum(int(line) for line in open(sys.argv[1])))' "$1"
SCRIPT
"""

_FILES: dict[str, str] = {
    "task.toml": _CONFIG,
    "instruction.md": _INSTRUCTION,
    "environment/Dockerfile": _DOCKERFILE,
    "environment/app/numbers.txt": "4\n\n-1\n39\n",
    "tests/test.sh": _TEST,
    "solution/solve.sh": _SOLVE,
    "solution/wrong.sh": _WRONG,
}


def write_task(folder: Path) -> Path:
    """Write a working task into a new folder, named after it, and give the folder.

    Raises ``UsageError`` for a name that can't be a task's, ``TaskExists`` and ``PathUnusable``.
    """
    if not _NAME.fullmatch(folder.name):
        raise UsageError(
            f"{folder.name!r} can't be a task's name.", remedy="Use letters, digits, hyphens, underscores and dots."
        )
    if os.path.lexists(folder):
        raise TaskExists(where=str(folder))
    with writing(folder):
        folder.mkdir(parents=True)
        for name, text in _FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("@NAME@", folder.name), encoding="utf-8")
            if name.endswith(".sh"):
                path.chmod(0o755)
    return folder
