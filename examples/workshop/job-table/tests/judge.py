"""Runs /app/migrate.py on databases made here, and reads what is in them afterwards."""

import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import CLEAN, python, score

GOOD = (1, "ann", "done", 5, None)
TABLES = {
    "users": ["id", "name"],
    "jobs": ["id", "user_id", "state", "created"],
    "job_tags": ["job_id", "tag"],
    "rejected": ["old_rowid", "reason"],
}


def old(path, rows):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE jobs(id, owner, state, created, tags)")
    database.executemany("INSERT INTO jobs(rowid, id, owner, state, created, tags) VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    database.close()


def content(path):
    database = sqlite3.connect(path)
    try:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names}
    finally:
        database.close()


def moved(rows, **wanted):
    """Whether the tables named hold the rows named afterwards; rows without a rowid are counted from 1."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "the jobs.db"
        old(path, [row if len(row) == 6 else (number, *row) for number, row in enumerate(rows, start=1)])
        done = python("/app/migrate.py", str(path))
        found = content(path)
    return (
        done.returncode == 0 and found.keys() == TABLES.keys() and all(found[name] == wanted[name] for name in wanted)
    )


def created(*values):
    """What becomes of each value, None where its row is rejected."""
    rows = [(number, "ann", "done", value, None) for number, (value, _) in enumerate(values)]
    jobs = [(number, 1, "done", seconds) for number, (_, seconds) in enumerate(values) if seconds is not None]
    out = [(number + 1, "created") for number, (_, seconds) in enumerate(values) if seconds is None]
    return moved(rows, jobs=jobs, rejected=out)


def users():
    rows = [(7, 1, "", "done", 5, None), (9, 2, " Bob", "done", 5, None), (3, 3, "ANN", "bad", 5, None),
            (12, 4, "\u00c4ne", "done", 5, None), (4, 5, "Ann ", "done", 5, None), (13, 6, "\u00e4ne", "done", 5, None),
            (14, 7, "aNN", "done", 5, None), (15, 8, "an  n", "done", 5, None)]  # fmt: skip
    names = ["Ann", "Bob", "\u00c4ne", "\u00e4ne", "an  n"]
    jobs = [(2, 2), (4, 3), (5, 1), (6, 4), (7, 1), (8, 5)]
    return moved(
        rows,
        users=list(enumerate(names, start=1)),
        jobs=[(job, user, "done", 5) for job, user in jobs],
        rejected=[(3, "state"), (7, "owner")],
    )


def states():
    given = {" DONE ": "done", "Ok": "done", "success": "done", "waiting": "queued", "queued": "queued", "error": "failed",
             "failed": "failed", "Running": "running"}  # fmt: skip
    bad = ["", None, 1, "okay", "done\t", b"done"]
    rows = [(number, "ann", state, 5, None) for number, state in enumerate([*given, *bad])]
    jobs = [(number, 1, state, 5) for number, state in enumerate(given.values())]
    return moved(rows, jobs=jobs, rejected=[(len(given) + 1 + number, "state") for number in range(len(bad))])


def tags():
    rows = [(1, "ann", "done", 5, " red,blue ,,red, light blue"), (2, "ann", "done", 5, ""), (3, "ann", "done", 5, None),
            (4, "ann", "done", 5, 7), (5, "ann", "done", 5, b"x"), (6, "ann", "done", 5, "Red,red")]  # fmt: skip
    wanted = [(1, "blue"), (1, "light blue"), (1, "red"), (6, "Red"), (6, "red")]
    return moved(rows, job_tags=wanted, rejected=[(4, "tags"), (5, "tags")])


def ids():
    rows = [(None, *GOOD[1:]), ("1", *GOOD[1:]), (1.0, *GOOD[1:]), (2, "", "done", 5, None), (2, *GOOD[1:]),
            (-3, *GOOD[1:]), (-3, "bob", "done", 5, None), (0, *GOOD[1:])]  # fmt: skip
    reasons = {1: "id", 2: "id", 3: "id", 4: "owner", 5: "id", 7: "id"}
    return moved(rows, jobs=[(-3, 1, "done", 5), (0, 1, "done", 5)], users=[(1, "ann")], rejected=list(reasons.items()))


def first_reason():
    rows = [
        ("x", 5, "bad", "bad", 5),
        (1, 5, "bad", "bad", 5),
        (2, "ann", "bad", "bad", 5),
        (3, "ann", "done", "bad", 5),
    ]
    return moved(rows, jobs=[], users=[], rejected=[(1, "id"), (2, "owner"), (3, "state"), (4, "created")])


def constraints():
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "jobs.db"
        old(path, [(1, *GOOD)])
        python("/app/migrate.py", str(path))
        database = sqlite3.connect(path)
        database.execute("PRAGMA foreign_keys = ON")
        good = all(
            [column[1] for column in database.execute(f"PRAGMA table_info({name})")] == columns
            for name, columns in TABLES.items()
        )
        for statement in (
            "INSERT INTO users(name) VALUES ('ann')",
            "INSERT INTO users(name) VALUES (NULL)",
            "INSERT INTO jobs VALUES (2, 99, 'done', 5)",
            "INSERT INTO jobs VALUES (2, 1, 'paused', 5)",
            "INSERT INTO jobs VALUES (2, 1, 'done', NULL)",
            "INSERT INTO job_tags VALUES (99, 'x')",
            "INSERT INTO job_tags VALUES (1, NULL)",
        ):
            try:
                database.execute(statement)
                good = False
            except sqlite3.IntegrityError:
                pass
        database.close()
        return good


def twice():
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "jobs.db"
        old(path, [(1, *GOOD), (2, 2, "bob", "bad", 5, None)])
        python("/app/migrate.py", str(path))
        once = content(path)
        done = python("/app/migrate.py", str(path))
        return done.returncode == 0 and once.keys() == TABLES.keys() and content(path) == once


def other_files():
    with tempfile.TemporaryDirectory() as place:
        text, other, missing = Path(place) / "text.db", Path(place) / "other.db", Path(place) / "missing.db"
        text.write_text("no database " * 100)
        database = sqlite3.connect(other)
        database.execute("CREATE TABLE things(id)")
        database.close()
        before = text.read_bytes(), other.read_bytes()
        codes = [python("/app/migrate.py", str(path)).returncode for path in (text, other, missing)]
        return codes == [2, 2, 2] and (text.read_bytes(), other.read_bytes()) == before and not missing.exists()


def killed():
    """Killed again and again, later each time: the file is one or the other, never something between."""
    with tempfile.TemporaryDirectory() as place:
        rows = [(number, number, f"user {number % 50}", "ok", number, "a,b,c") for number in range(1, 4001)]
        for step in range(12):
            path = Path(place) / f"{step}.db"
            old(path, rows)
            call = subprocess.Popen(
                ["python3", "-B", "/app/migrate.py", str(path)], stderr=subprocess.DEVNULL, cwd="/app", env=CLEAN
            )
            time.sleep(0.02 * step)
            call.send_signal(signal.SIGKILL)
            call.wait(10)
            found = content(path)
            whole = found.keys() == TABLES.keys() and len(found["jobs"]) == 4000 and len(found["job_tags"]) == 12_000
            if not whole and not (found.keys() == {"jobs"} and len(found["jobs"]) == 4000):
                return False
        done = python("/app/migrate.py", str(path), seconds=20)
        return done.returncode == 0 and len(content(path)["job_tags"]) == 12_000


NOON = 1_772_368_200  # 2026-03-01 12:30:00 UTC
checks = {
    "users": users,
    "states": states,
    "tags": tags,
    "ids": ids,
    "the first reason": first_reason,
    "seconds": lambda: created((NOON, NOON), (str(NOON), NOON), ("2026-03-01 12:30:00", NOON), (0, 0), ("007", 7)),
    "milliseconds": lambda: created(
        (99_999_999_999, 99_999_999_999), (100_000_000_000, 100_000_000), (NOON * 1000 + 999, NOON), (f"{NOON}999", NOON)
    ),
    "no times": lambda: created(
        *((value, None) for value in ("", None, 5.0, "5.0", "-5", " 5", "2026-02-29 00:00:00", "2026-03-01T12:30:00", "2026-03-01",
                                      "2026-03-01 24:00:00", "2026-3-1 12:30:00", b"5", "\u0665", "yesterday"))
    ),
    "constraints": constraints,
    "a second time": twice,
    "no old database": other_files,
    "killed on the way": killed,
}  # fmt: skip
score(checks)
