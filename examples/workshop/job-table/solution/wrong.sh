#!/bin/bash
# Lets SQL coerce and ignore: text ids become numbers, later duplicates win, and the script commits as it goes.
cat > /app/migrate.py <<'PY'
import sqlite3
import sys
from datetime import datetime, timezone

database = sqlite3.connect(sys.argv[1])
rows = database.execute("SELECT rowid, * FROM jobs").fetchall()
if rows and len(rows[0]) == 5:
    sys.exit(0)
database.executescript("""
DROP TABLE jobs;
CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users(id),
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')), created INTEGER NOT NULL);
CREATE TABLE job_tags(job_id INTEGER NOT NULL REFERENCES jobs(id), tag TEXT NOT NULL, PRIMARY KEY (job_id, tag));
CREATE TABLE rejected(old_rowid INTEGER PRIMARY KEY, reason TEXT NOT NULL);
""")
states = {"waiting": "queued", "ok": "done", "success": "done", "error": "failed"}
users = {}
for rowid, number, owner, state, created, tags in rows:
    reason = "id"
    try:
        number = int(number)
        reason = "owner"
        owner = owner.strip()
        reason = "state"
        state = states.get(state.strip().lower(), state.strip().lower())
        reason = "created"
        if isinstance(created, str) and "-" in created:
            created = datetime.fromisoformat(created).replace(tzinfo=timezone.utc).timestamp()
        created = int(created)
        created = created // 1000 if created > 100000000000 else created
        user = users.setdefault(owner.lower(), len(users) + 1)
        database.execute("INSERT OR IGNORE INTO users VALUES (?, ?)", (user, owner))
        reason = "state"
        database.execute("INSERT INTO jobs VALUES (?, ?, ?, ?)", (number, user, state, created))
        for tag in (tags or "").split(","):
            if tag.strip():
                database.execute("INSERT OR IGNORE INTO job_tags VALUES (?, ?)", (number, tag.strip()))
    except (ValueError, TypeError, AttributeError, sqlite3.Error):
        database.execute("INSERT INTO rejected VALUES (?, ?)", (rowid, reason))
database.commit()
PY
