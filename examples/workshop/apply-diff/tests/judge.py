"""Runs /app/apply.py on files and diffs made here; for random edits the diff is difflib's and the result is known."""

import difflib
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import CLEAN, score

PROGRAM = "/app/apply.py"
HEAD = b"--- a\n+++ b\n"


def applied(file, diff, *options):
    if not Path(PROGRAM).is_file():
        raise FileNotFoundError(PROGRAM)
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / "the file", Path(place) / "the diff"]
        for path, data in zip(paths, (file, diff), strict=True):
            path.write_bytes(data)
        command = ["python3", "-B", PROGRAM, *options, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, timeout=10, cwd=place, env=CLEAN)
        kept = [path.read_bytes() for path in paths] == [file, diff]
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip(), kept


def makes(file, body, wanted, *options):
    return applied(file, HEAD + body, *options)[:2] == (0, wanted)


def fails(file, body, number, *options):
    return applied(file, HEAD + body, *options)[:3] == (1, b"", f"hunk {number}")


def malformed(diff):
    return applied(b"a\n", diff)[:2] == (2, b"")


A = b"a\nb\nc\nd\n"
BACK = "--reverse"
CHECKS = {
    "a change": [(makes, A, b"@@ -2,2 +2,2 @@\n b\n-c\n+C\n", b"a\nb\nC\nd\n")],
    "backwards": [(makes, b"a\nb\nC\nd\n", b"@@ -2,2 +2,2 @@\n b\n-c\n+C\n", A, BACK),
                  (makes, b"X\na\nb\n", b"@@ -0,0 +1 @@\n+X\n@@ -2 +3,0 @@\n-b\n", b"a\nb\nb\n", BACK)],
    "counts left out": [(makes, A, b"@@ -2 +2 @@ def f():\n-b\n+B\n", b"a\nB\nc\nd\n")],
    "only new lines": [(makes, A, b"@@ -0,0 +1,2 @@\n+x\n+y\n", b"x\ny\n" + A), (makes, A, b"@@ -4,0 +5 @@\n+e\n", A + b"e\n"),
                       (makes, b"", b"@@ -0,0 +1 @@\n+e\n", b"e\n")],
    "only old lines": [(makes, A, b"@@ -1,4 +0,0 @@\n-a\n-b\n-c\n-d\n", b"")],
    "lines that look like headers": [
        (makes, b"-- x\na\n", b"@@ -1,2 +1,2 @@\n--- x\n+++ y\n a\n", b"++ y\na\n"),
        (makes, b"@@ -1 +1 @@\na\n", b"@@ -1,2 +1 @@\n @@ -1 +1 @@\n-a\n", b"@@ -1 +1 @@\n")],
    "what comes before": [(lambda diff: applied(A, diff)[:2] == (0, b"a\nB\nc\nd\n"), b"diff --git a b\nindex 1..2\n" + HEAD + b"@@ -2 +2 @@\n-b\n+B\n")],
    "a stripped empty line": [(makes, b"a\n\nc\n", b"@@ -1,3 +1,3 @@\n-a\n+A\n\n c\n", b"A\n\nc\n")],
    "carriage returns": [(makes, b"a\r\nb\r\n", b"@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\n", b"a\r\nB\n"),
                         (fails, b"a\r\nb\r\n", b"@@ -1 +1 @@\n-a\n+A\n", 1)],
    "other bytes": [(makes, b"\xff\x0c\n\x85\xe2\x80\xa8\n", b"@@ -1,2 +1,2 @@\n \xff\x0c\n-\x85\xe2\x80\xa8\n+\x00\x0b\r\xfe\n", b"\xff\x0c\n\x00\x0b\r\xfe\n")],
    "a line end is taken away": [(makes, b"a\n", b"@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", b"a")],
    "a line end is added": [(makes, b"a", b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", b"a\n"),
                            (fails, b"a\n", b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", 1)],
    "no line end in both": [(makes, b"a\nb", b"@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ no\n", b"A\nb"), (fails, b"a\nb\n", b"@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ no\n", 1)],
    "no line end, but not the last": [(fails, b"a\nb\n", b"@@ -1 +1 @@\n-a\n+A\n\\ no\n", 1), (fails, b"a", b"@@ -1,0 +2 @@\n+b\n", 1)],
    "moved down": [(makes, b"x\n" * 7 + A, b"@@ -2 +2 @@\n-b\n+B\n", b"x\n" * 7 + b"a\nB\nc\nd\n")],
    "moved up": [(makes, A, b"@@ -40,2 +40,2 @@\n b\n-c\n+C\n", b"a\nb\nC\nd\n")],
    "the nearest": [(makes, b"a\nx\nx\na\nx\n", b"@@ -3 +3 @@\n-a\n+A\n", b"a\nx\nx\nA\nx\n")],
    "of two the earlier": [(makes, b"a\nx\na\n", b"@@ -2 +2 @@\n-a\n+A\n", b"A\nx\na\n")],
    "the drift": [(makes, b"n\nn\n" + b"a\nx\nb\nx\nb\nx\nb\n", b"@@ -1 +1 @@\n-a\n+A\n@@ -5 +5 @@\n-b\n+B\n", b"n\nn\nA\nx\nb\nx\nB\nx\nb\n")],
    "the drift is that of old places": [(makes, b"a\nx\nb\nx\nx\nb\n", b"@@ -1 +1,4 @@\n-a\n+A\n+A\n+A\n+A\n@@ -3 +6 @@\n-b\n+B\n", b"A\nA\nA\nA\nx\nB\nx\nx\nb\n")],
    "not before the hunk before": [(makes, b"b\na\nb\n", b"@@ -2 +2 @@\n-a\n+A\n@@ -1 +3 @@\n-b\n+B\n", b"b\nA\nB\n"), (fails, b"b\na\n", b"@@ -2 +2 @@\n-a\n+A\n@@ -1 +3 @@\n-b\n+B\n", 2)],
    "not into what was put in": [(fails, b"a\n", b"@@ -1 +1,2 @@\n-a\n+A\n+z\n@@ -2 +3 @@\n-z\n+Z\n", 2)],
    "new lines drift, and stay": [(makes, b"n\na\nb\n", b"@@ -1 +1 @@\n-a\n+A\n@@ -2,0 +3 @@\n+z\n", b"n\nA\nb\nz\n"), (fails, A, b"@@ -5,0 +6 @@\n+z\n", 1)],
    "the first that fails": [(fails, A, b"@@ -1 +1 @@\n-a\n+A\n@@ -2 +2 @@\n-y\n+B\n@@ -3 +3 @@\n-z\n+C\n", 2)],
    "malformed": [(malformed, diff) for diff in (
        b"", b"--- a\n", b"--- a\n+++ b\n", b"@@ -1 +1 @@\n-a\n+b\n", HEAD + b"@@ -1,2 +1 @@\n-a\n+b\n", HEAD + b"@@ -1 +1 @@\n-a\n+b\nmore\n",
        HEAD + b"@@ -1 +1 @@\n-a\n+b\n+c\n", HEAD + b"@@ -1 +1 @@\n*a\n", HEAD + b"@@ -a +1 @@\n-a\n", b"--- a\n-+++ b\n@@ -1 +1 @@\n-a\n+b\n",
        HEAD + b"@@ -9 +9 @@\n-zz\n+b\n@@ -1 +1 @@\n-a\n", HEAD + b"\\ no\n@@ -1 +1 @@\n-a\n+b\n")],
}  # fmt: skip


def at_random(shift, back):
    choice = random.Random(f"{shift} {back}")
    for _ in range(8):
        old = [f"line {number}\n" for number in range(60)]
        new = [line for line in old if choice.random() > 0.1]
        for number in range(6):
            new.insert(choice.randint(0, len(new)), f"new {number}\n")
        diff = "".join(difflib.unified_diff(old, new, "a", "b", n=choice.randint(1, 4))).encode()
        one, other = (new, old) if back else (old, new)
        pad = "".join(f"pad {number}\n" for number in range(shift)).encode()
        file, wanted = (pad + "".join(lines).encode() for lines in (one, other))
        if applied(file, diff, *([BACK] if back else [])) != (0, wanted, "", True):
            return False
    return True


checks = {title: lambda ones=ones: all([one[0](*one[1:]) for one in ones]) for title, ones in CHECKS.items()}
checks["random edits"] = lambda: at_random(0, False)
checks["random edits of a longer file"] = lambda: at_random(13, False)
checks["random edits backwards"] = lambda: at_random(0, True) and at_random(5, True)
score(checks)
