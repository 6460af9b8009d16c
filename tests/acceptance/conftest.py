"""The CLI as a user has it: a subprocess, a data folder of its own, real sandboxes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@dataclass
class Cli:
    """Runs ``proctor`` in a folder; keeps its data there too."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "PROCTOR_HOME": str(self.home), "PROCTOR_SERVER": "local", "COLUMNS": "200", **more}

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "proctor", *arguments],
            cwd=self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def on_terminal(self, *arguments: str, columns: int = 100) -> str:
        """What a person sees: the command's output on a terminal of so many columns, with its escape sequences."""
        primary, secondary = pty.openpty()
        termios.tcsetwinsize(secondary, (50, columns))
        environment = {**self.environment(TERM="xterm"), "NO_COLOR": "1"}
        del environment["COLUMNS"]
        command = [sys.executable, "-m", "proctor", *arguments]
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=secondary, stdout=secondary, stderr=secondary
        )
        os.close(secondary)
        seen = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(primary, 65_536):
                seen += piece
        os.close(primary)
        process.wait(timeout=60)
        return seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def json_lines(self, *arguments: str) -> list[Any]:
        """A command that prints one document a line."""
        return [json.loads(line) for line in self(*arguments, "--json").stdout.splitlines()]

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Desk(Cli):
    """The command line as a user of a server has it: no data folder that could be mistaken for one."""

    def environment(self, **more: str) -> dict[str, str]:
        config = {"XDG_CONFIG_HOME": str(self.folder / "config")}
        plain = super().environment(**config, **more)
        if "PROCTOR_SERVER" not in more:
            del plain["PROCTOR_SERVER"]
        return plain


def free_port() -> int:
    """One that nothing listens on."""
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def serving(cli: Cli, roles: str = "", port: int = 0, **environment: str) -> Iterator[str]:
    """A whole server, or some of its roles, in a process of its own; what it printed is the one-time link."""
    what = ["serve", "--roles", roles] if roles else ["up"]
    command = [sys.executable, "-m", "proctor", *what, "--port", str(port), "--json"]
    told = cli.environment(**environment)
    with (cli.folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=cli.folder, env=told, stdout=subprocess.PIPE, stderr=log)
    assert process.stdout is not None
    with process.stdout as printed:
        try:
            text = ""
            while not text.rstrip().endswith("}"):
                line = printed.readline().decode()
                assert line, (cli.folder / "server.log").read_text()
                text += line
            yield str(json.loads(text)["setup_link"])
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=60)
    assert code == 0, (cli.folder / "server.log").read_text()


@pytest.fixture
def cli() -> Iterator[Cli]:
    folder = Path(tempfile.mkdtemp(prefix="proctor-acceptance-"))
    folder.chmod(0o755)
    made = Cli(folder)
    yield made
    made("down")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A run of the bundled tasks with three agents, for tests that only read."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-acceptance-"))
    folder.chmod(0o755)
    made = Cli(folder)
    shutil.copytree(ROOT / "examples" / "basics", folder / "basics")
    made("run", "basics", "--agent", "oracle,noop", "--concurrency", "4")
    yield made
    made("down")
    shutil.rmtree(folder)
