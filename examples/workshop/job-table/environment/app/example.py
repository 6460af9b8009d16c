"""Makes an old database: python3 example.py FILE."""

import sqlite3
import sys

ROWS = [
    (1, "Ann", "ok", 1772355600, "red, blue"),
    (2, "bob ", "Waiting", "2026-03-01 12:30:00", None),
    (2, "Ann", "done", 1772355600123, ""),
    (4, "ANN", "paused", "1772355600", "red"),
]
database = sqlite3.connect(sys.argv[1])
database.execute("CREATE TABLE jobs(id, owner, state, created, tags)")
database.executemany("INSERT INTO jobs VALUES (?, ?, ?, ?, ?)", ROWS)
database.commit()
