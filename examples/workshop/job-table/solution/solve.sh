#!/bin/bash
cat > /app/migrate.py <<'PY'
"""Moves a database of jobs to the schema with users and tags."""

import re
import sqlite3
import sys
from datetime import datetime, timezone
from pathlib import Path

STATES = {"waiting": "queued", "ok": "done", "success": "done", "error": "failed"}
SCHEMA = (
    "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE jobs(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users(id),
       state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')), created INTEGER NOT NULL)""",
    """CREATE TABLE job_tags(job_id INTEGER NOT NULL REFERENCES jobs(id), tag TEXT NOT NULL,
       PRIMARY KEY (job_id, tag))""",
    "CREATE TABLE rejected(old_rowid INTEGER PRIMARY KEY, reason TEXT NOT NULL)",
)


class Rejected(Exception):
    pass


def lower(text):
    return re.sub("[A-Z]+", lambda match: match[0].lower(), text)


def state_of(value):
    state = lower(value.strip(" ")) if isinstance(value, str) else ""
    state = STATES.get(state, state)
    if state not in ("queued", "running", "done", "failed"):
        raise Rejected("state")
    return state


def created_of(value):
    if isinstance(value, str) and re.fullmatch("[0-9]+", value):
        value = int(value)
    if isinstance(value, int):
        seconds = value // 1000 if value >= 100_000_000_000 else value
        if seconds < 2**63:
            return seconds
    if isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", value):
        try:
            return int(datetime.strptime(value, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc).timestamp())
        except ValueError:
            pass
    raise Rejected("created")


def cleaned(row, seen):
    _, number, owner, state, created, tags = row
    if not isinstance(number, int) or number in seen:
        raise Rejected("id")
    seen.add(number)
    if not isinstance(owner, str) or not owner.strip(" "):
        raise Rejected("owner")
    state, created = state_of(state), created_of(created)
    if not isinstance(tags, (str, type(None))):
        raise Rejected("tags")
    return number, owner.strip(" "), state, created, {tag.strip(" ") for tag in (tags or "").split(",")} - {""}


def move(database):
    rows = database.execute("SELECT rowid, id, owner, state, created, tags FROM jobs ORDER BY rowid").fetchall()
    database.execute("DROP TABLE jobs")
    for statement in SCHEMA:
        database.execute(statement)
    users, seen = {}, set()
    for row in rows:
        try:
            number, owner, state, created, tags = cleaned(row, seen)
        except Rejected as reason:
            database.execute("INSERT INTO rejected VALUES (?, ?)", (row[0], str(reason)))
            continue
        user = users.get(lower(owner))
        if user is None:
            user = users[lower(owner)] = len(users) + 1
            database.execute("INSERT INTO users VALUES (?, ?)", (user, owner))
        database.execute("INSERT INTO jobs VALUES (?, ?, ?, ?)", (number, user, state, created))
        database.executemany("INSERT INTO job_tags VALUES (?, ?)", [(number, tag) for tag in tags])


def main():
    path = Path(sys.argv[1])
    if not path.is_file():
        sys.exit(2)
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if {"users", "jobs", "job_tags", "rejected"} <= tables:
            return
        columns = [column[1] for column in database.execute("PRAGMA table_info(jobs)")]
        if columns != ["id", "owner", "state", "created", "tags"]:
            sys.exit(2)
        move(database)
        database.execute("COMMIT")
    except sqlite3.DatabaseError:
        sys.exit(2)


main()
PY
