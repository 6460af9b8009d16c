"""Programs of tests of jobs and streams that are killed: started with what they need to reach the desk's data."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.engine import make_url

from proctor.app import Platform, _of_tenant
from proctor.database.engine import Database
from proctor.objects.store import ObjectStore
from proctor.settings import Settings
from tests.conftest import Urls
from tests.data.desk import LEASE_SEC, Desk

__all__ = ["platform_of", "started", "told", "until_kept"]


def started(desk: Desk, urls: Urls, program: str, **more: object) -> subprocess.Popen[str]:
    """A module of ``tests.data`` in a process group of its own, with its standard output to be read."""
    platform = desk.platform
    said = {name: getattr(urls, name).render_as_string(hide_password=False) for name in ("app", "scheduler")}
    said |= {"objects": platform.objects.root, "home": str(platform.settings.home), "tenant": str(platform.tenant)}
    said |= {name: str(value) for name, value in more.items()}
    command = [sys.executable, "-m", f"tests.data.{program}", json.dumps(said)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, text=True, start_new_session=True)


def until_kept(desk: Desk, table: str, rows: int) -> None:
    """Wait until so many rows of the tenant's are there, a minute at the most."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with desk.platform.database.tenant(desk.platform.tenant) as connection:
            if connection.execute(text(f"SELECT count(*) FROM proctor.{table}")).scalar_one() >= rows:
                return
        time.sleep(0.005)
    raise AssertionError(f"there are no {rows:,} rows of {table} in a minute")


def told() -> dict[str, Any]:
    """What this program was started with."""
    said: dict[str, Any] = json.loads(sys.argv[1])
    return said


def platform_of(said: dict[str, Any]) -> Platform:
    """The desk's platform, in another process."""
    database = Database(make_url(said["app"]), make_url(said["scheduler"]))
    settings = Settings(home=Path(said["home"]), lease_sec=LEASE_SEC)
    return _of_tenant(settings, database, ObjectStore(said["objects"]), UUID(said["tenant"]))
