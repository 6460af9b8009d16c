"""A server and somebody who asks it: what tests of commands from afar compare."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tests.acceptance.conftest import Cli

__all__ = ["Place"]


@dataclass
class Place:
    """A server's machine, and a desk that goes to the server, with one run set on it."""

    machine: Cli
    desk: Cli
    attempt: str

    def filled(self, arguments: tuple[str, ...]) -> list[str]:
        return [one.replace("ATTEMPT", self.attempt) for one in arguments]

    def here(self, *arguments: str) -> Any:
        """What the command says on the server's machine, of the same tenant, in the desk's folder."""
        return self._asked(self.machine.environment(PROCTOR_TENANT="acme"), *arguments)

    def there(self, *arguments: str) -> Any:
        """What it says of the server."""
        return self._asked(self.desk.environment(), *arguments)

    def _asked(self, environment: dict[str, str], *arguments: str) -> Any:
        words = [sys.executable, "-m", "proctor", *arguments, "--json"]
        done = subprocess.run(words, cwd=self.desk.folder, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout)
