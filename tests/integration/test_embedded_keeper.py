"""The embedded server's keeper on a machine that is busy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.database.embedded.folder import Folder

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.skipif(sys.platform != "linux", reason="the embedded server is for Linux"),
]

SLOW_TO_NAME = """
import os, sys
from proctor.database.embedded import keeper
fork = os.fork
def forked():
    pid = fork()
    if pid:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # over before it is named, and not taken away
    return pid
os.fork = forked
os._exit(keeper.main(sys.argv[1]))
"""
"""A keeper that a busy machine lets end before the process that began it goes on."""


def test_a_keeper_that_ended_at_once_is_named_too(tmp_path: Path) -> None:
    made = tmp_path / "database"
    (made / "data").mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=made / "data", stdin=subprocess.PIPE) as other:
        (made / "data" / "postmaster.pid").write_text(f"{other.pid}\n", encoding="ascii")
        plan = {"folder": str(made), "command": ["false"], "sockets": str(made / "s"), "uid": None, "gid": None}
        subprocess.run([sys.executable, "-c", SLOW_TO_NAME, json.dumps(plan)], check=True, timeout=30)
        named = Folder(made).keeper_named()
        assert named is not None
        assert named.start > 0
        assert not named.alive()
        other.kill()
