"""A secret's life on a server: set, used by agents that do their best to tell it, replaced, rotated, removed.

After each of it nothing of the value is anywhere: every file of the data folder is read, those of the database and the
objects too, and so is whatever the server printed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from proctor.sdk.logins import Login, Logins
from tests.acceptance.conftest import Cli, Desk, serving

pytestmark = [pytest.mark.slow, pytest.mark.server]

VALUE = "sk-journey-first-0123456789abcdef"
NEXT = "sk-journey-second-fedcba9876543210"
TASK = """
schema_version = "1.4"
[task]
name = "own/teller"
[environment]
network_mode = "no-network"
[solution.env]
KEY = "${TOKEN}"
[verifier.env]
KEY = "${TOKEN}"
[metadata.proctor]
verification = "snapshot"
"""
RUN_SET = """
name = "NAME"
suite = "tasks"
[[profiles]]
name = "teller"
agent = "command"
command = '''
echo "out: $KEY"; echo "err: $KEY" >&2; printf %s "$KEY" | cut -c1-9 | tr -d "\\n"; printf %s "$KEY" | cut -c10-
printf %s "$KEY" > answer; printf %s "$KEY" | sha256sum | cut -d' ' -f1 > sum
'''
env = { KEY = "${TOKEN}" }
[[profiles]]
name = "oracle"
agent = "oracle"
[secrets]
names = ["TOKEN"]
"""
SOLVE = '#!/bin/bash\nset -x\necho "solution: $KEY"\nprintf %s "$KEY" | sha256sum | cut -d" " -f1 > sum\n'
VERIFY = """#!/bin/bash
echo "verifier: $KEY"
test "$(cat sum)" = "$(printf %s "$KEY" | sha256sum | cut -d' ' -f1)" && echo 1 > /logs/verifier/reward.txt \\
    || echo 0 > /logs/verifier/reward.txt
"""


def teller(desk: Cli) -> None:
    """A task whose answer proves that agent and verifier know the same secret."""
    for name, text in (("task.toml", TASK), ("instruction.md", "Tell.\n")):
        desk.write(f"tasks/teller/{name}", text)
    desk.write("tasks/teller/solution/solve.sh", SOLVE)
    desk.write("tasks/teller/tests/test.sh", VERIFY)


def traces(cli: Cli, *values: str) -> list[str]:
    """Files of the server that hold a value, its own log too; every byte of them is read."""
    files = [path for path in cli.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(files) > 100, "the database and the objects are among them"
    assert any(path.is_relative_to(cli.home / "postgres") for path in files)
    assert any(path.is_relative_to(cli.home / "objects") for path in files)
    return [str(path) for path in files for value in values if value.encode() in path.read_bytes()]


def typed(desk: Cli, words: str, value: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command with a value on its standard input."""
    done = subprocess.run(
        [sys.executable, "-m", "proctor", *words.split()],
        cwd=desk.folder,
        env=desk.environment(**environment),
        input=value,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    assert value.strip() not in done.stdout + done.stderr
    return done


@pytest.fixture
def ada(cli: Cli) -> Iterator[Desk]:
    folder = Path(tempfile.mkdtemp(prefix="proctor-acceptance-"))
    with serving(cli) as link:
        desk = Desk(folder)
        desk("login", link, "--tenant", "acme", "--owner", "ada@example.org")
        teller(desk)
        yield desk
    shutil.rmtree(folder)


def run(desk: Cli, name: str) -> list[str]:
    """Run a set of that name; the outcomes of the teller and the oracle."""
    desk.write(f"{name}.toml", RUN_SET.replace("NAME", name))
    desk("run", f"{name}.toml")
    return [cell["outcome"] for cell in desk.json("cells", name)["cells"]]


def login_of(desk: Desk) -> Login:
    """Where a desk's commands go, and with which key."""
    login = Logins(desk.folder / "config" / "proctor" / "logins.json").default()
    assert login is not None
    return login


def answers(desk: Desk) -> str:
    """Everything that the API tells of secrets, runs and what was done."""
    login, told = login_of(desk), []

    def asked(path: str) -> bytes:
        said = {"Authorization": f"Bearer {login.key}"}
        told.append(urlopen(Request(f"{login.server}/api/v1/{path}", headers=said)).read())
        return bytes(told[-1])

    for path in ("secrets", "audit-log?limit=1000", "events/history", "operations", "keys", "usage"):
        asked(path)
    for row in json.loads(asked("run-sets"))["items"]:
        for part in ("profiles", "leaderboard", "sides", "gate"):
            asked(f"run-sets/{row['id']}/{part}")
        for cell in json.loads(asked(f"run-sets/{row['id']}/cells"))["items"]:
            attempt = f"attempts/{cell['attempt']}"
            asked(f"{attempt}/log")
            for artifact in json.loads(asked(attempt))["attempt"]["artifacts"]:
                asked(f"{attempt}/artifacts/{artifact['name']}")
    return b"\n".join(told).decode("utf-8", "replace")


def test_a_secrets_life(cli: Cli, ada: Desk) -> None:
    ada.write("early.toml", RUN_SET.replace("NAME", "early"))
    refused = ada("run", "early.toml", code=2).stderr
    assert "[secret-missing] spec.secrets.names[0]: TOKEN is not set on this server." in refused
    assert "`proctor secret set TOKEN`" in refused
    assert "missing key: TOKEN" in ada("run", "early.toml", "--dry-run", code=2).stdout

    assert "TOKEN is set, version 1" in typed(ada, "secret set TOKEN", f"{VALUE}\n").stdout
    assert run(ada, "first") == ["passed", "passed"]
    (teller_cell,) = ada.json("cells", "first", "--profile", "teller")["cells"]
    log = ada("attempt", "logs", teller_cell["attempt"]).stdout
    assert "out: [secret removed]" in log
    assert "err: [secret removed]" in log
    assert "verifier: [secret removed]" in log
    assert "refused: it holds a secret" in ada("attempt", "show", teller_cell["attempt"], "--json").stdout
    assert "used 20" in ada("secret", "list").stdout

    ada("secret", "set", "TOKEN", "--from-env", "MINE", MINE=NEXT)
    assert run(ada, "second") == ["passed", "passed"], "agent and verifier have the new one"
    assert ada.json("secret", "list")["secrets"][0]["version"] == 2

    keys = (cli.home / "secrets" / "secrets.key").read_text().split()
    assert "1 wrapped by key" in cli("secret", "rotate", "--new-key").stdout
    assert "0 wrapped by key" in cli("secret", "rotate").stdout
    kept = (cli.home / "secrets" / "secrets.key").read_text().split()
    assert kept[1:] == keys
    (cli.home / "secrets" / "secrets.key").write_text(kept[0] + "\n")  # the old one is gone; the server runs on
    assert run(ada, "third") == ["passed", "passed"]
    ada("export", "third", "--to", "job")
    cli("backup", "create", "backup")
    assert not (cli.folder / "backup" / "secrets.key").exists()

    told = answers(ada)
    assert "secret.set" in told
    assert "secrets.rewrapped" in told
    assert "[secret removed]" in told
    assert not [value for value in (VALUE, NEXT) if value in told]
    assert traces(cli, VALUE, NEXT, *kept[:1]) == [str(cli.home / "secrets" / "secrets.key")], "the key, and no value"
    assert not [path for path in ada.folder.rglob("*") if path.is_file() and NEXT.encode() in path.read_bytes()]

    assert "TOKEN is removed" in ada("secret", "remove", "TOKEN").stdout
    assert "[secret-missing]" in ada("run", "third.toml", "--fresh", code=2).stderr
    assert "[secret-unknown]" in ada("secret", "remove", "TOKEN", code=2).stderr


def test_another_tenant_can_t_use_it(cli: Cli, ada: Desk, tmp_path: Path) -> None:
    typed(ada, "secret set TOKEN", VALUE)
    key = ada("tenant", "create", "rival", "--owner", "eve@example.org").stdout.strip()
    eve = Desk(tmp_path)
    typed(eve, f"login {login_of(ada).server}", key)
    teller(eve)
    eve.write("r.toml", RUN_SET.replace("NAME", "r"))
    assert eve.json("secret", "list")["secrets"] == []
    assert "[secret-missing]" in eve("run", "r.toml", code=2).stderr
    typed(eve, "secret set TOKEN", NEXT)
    assert run(eve, "r") == ["passed", "passed"]
    assert ada.json("secret", "list")["secrets"][0]["last_used_at"] is None, "hers was used, not this one"
    assert traces(cli, VALUE, NEXT) == []


def test_what_can_t_be_is_told(cli: Cli, ada: Desk) -> None:
    assert "[secret-value]" in typed(ada, "secret set TOKEN", "a\0sk-zero-byte", 2).stderr
    assert "[secret-value]" in typed(ada, "secret set TOKEN", "sk-1", 2).stderr
    assert "[request-invalid]" in typed(ada, "secret set A-B", VALUE, 2).stderr
    assert "GONE is not set" in ada("secret", "set", "TOKEN", "--from-env", "GONE", code=2).stderr
    assert "unexpected extra argument" in ada("secret", "set", "TOKEN", VALUE, code=2).stderr.lower()
    assert ada.json("secret", "list")["secrets"] == []
    for words in (("list",), ("set", "TOKEN"), ("remove", "TOKEN")):
        refused = ada("secret", *words, code=2, PROCTOR_SERVER="local").stderr
        assert "[login-missing]" in refused
        assert "from the environment" in refused
    (cli.home / "secrets" / "secrets.key").write_text("c2hvcnQ=\n")
    told = cli("secret", "rotate", code=5).stderr
    assert "[secrets-key]" in told
    assert "secrets.key: line 1: A key is 32 bytes; this one has 5." in told
    assert "secrets.key" not in typed(ada, "secret set TOKEN", VALUE, 5).stderr, "a server's places are its own"
