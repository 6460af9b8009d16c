"""Looks at /app/answer.txt, and at the history and the files of main in /app/repo. Exit code 0: right."""

import subprocess
import sys
from pathlib import Path

FIRST_BAD = "92423b8a9b9b5f6421df8068a587599756dcb39a"
TIP = "0ef2afc53315b51bb9298e588df9822ef8477da2"
REPAIRED_TREE = "d0b31e50498ebeb3a19b12de8673df3bcf7ba563"
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


def git(*arguments):
    command = ["git", "-C", "/app/repo", "--no-pager", *arguments]
    ran = subprocess.run(command, capture_output=True, timeout=20, text=True, env=ENVIRONMENT)
    return ran.stdout.strip()


def main():
    try:
        answer = Path("/app/answer.txt").read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        answer = f"none: {error}"
    findings = {
        "the answer is the first bad commit": answer == FIRST_BAD,
        "main is checked out": git("symbolic-ref", "HEAD") == "refs/heads/main",
        "main is one commit on top of the history": git("rev-list", "--parents", "-1", "main").split()[1:] == [TIP],
        "the history is whole": git("rev-list", "--count", TIP) == "13" and not git("fsck", "--connectivity-only"),
        "main holds everything but the bad change": git("rev-parse", "main^{tree}") == REPAIRED_TREE,
    }
    for finding, true in findings.items():
        print(f"{'yes' if true else 'NO '}: {finding}")
    return 0 if all(findings.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
