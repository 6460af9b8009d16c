"""Shared by the judges of both steps: what slugify gives, and what git says of the repository."""

import json
import subprocess

FIRST = "Slugs of titles"
REPAIRED = {
    "Hello,  World!": "hello-world",
    "plain title": "plain-title",
    "  Tabs\tand\nlines ": "tabs-and-lines",
    "--already-a-slug--": "already-a-slug",
    "snake_case": "snake-case",
    "\u00dcber 3\u00bd M\u00e4rkte": "\u00fcber-3\u00bd-m\u00e4rkte",
    "\u6771\u4eac 2026": "\u6771\u4eac-2026",
    "C++": "c",
    "...": "untitled",
    "": "untitled",
}
PROGRAM = """
import json, sys
sys.path.insert(0, "/app/slugs")
from slugs import slugify
print(json.dumps([slugify(*arguments) for arguments in json.load(sys.stdin)]))
"""


def slugs(calls):
    """What slugify gives for each list of arguments; nothing where the program fails."""
    ran = subprocess.run(
        ["python3", "-I", "-B", "-c", PROGRAM], input=json.dumps(calls), capture_output=True, timeout=20, text=True
    )
    print(ran.stderr[-2000:])
    try:
        given = json.loads(ran.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        given = None
    return given if isinstance(given, list) and len(given) == len(calls) else [None] * len(calls)


def git(*arguments):
    """What git prints; empty where it fails. No hook and no helper of the repository's own is run."""
    safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"]
    ran = subprocess.run(["git", *safe, "-C", "/app/slugs", *arguments], capture_output=True, timeout=20, text=True)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def committed():
    """On main, with nothing left uncommitted, over the first commit."""
    clean = git("status", "--porcelain", "--untracked-files=no") == "" and git("rev-parse", "HEAD") != ""
    roots = git("log", "--max-parents=0", "--format=%s %an %at", "main").splitlines()
    return {
        "on main": git("symbolic-ref", "--short", "HEAD") == "main",
        "nothing uncommitted": clean and git("diff", "HEAD", "--name-only") == "",
        "over the first commit": roots == [f"{FIRST} Ada Example 1767603600"],
    }


def judge(checks):
    """Print each check, and the reward: 1 only if all hold."""
    for title, good in checks.items():
        print(f"{'right' if good else 'WRONG'}: {title}")
    print(json.dumps({"reward": int(all(checks.values()))}))
