"""pip and npm as child processes: with the registries that this machine's are set up with, and nothing else of its
environment.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from proctor.agents.errors import AgentSetupFailed
from proctor.settings import clean_environment, registry_environment

__all__ = ["LayerFailed", "Registries"]

_SECONDS: float = 1800.0
"""Longer than the largest agent takes over a slow line; a registry that hangs ends some time."""
_SHOWN: int = 600
"""Characters of what a client said in an error: its last lines name the cause."""


class LayerFailed(AgentSetupFailed):
    """An agent's programs could not be brought here."""

    code = "agent-layer"
    remedy = (
        "Look at the registry's address and certificate in pip's or npm's own configuration and at the network, then "
        "`proctor agents prepare NAME`."
    )


@dataclass(frozen=True)
class Registries:
    """Runs the clients."""

    environment: Mapping[str, str]
    """What of the caller's environment they see."""

    @classmethod
    def of_this_machine(cls) -> Registries:
        """As pip and npm are set up for this user."""
        return cls({**clean_environment(), **registry_environment()})

    def pip(self, *words: str, python: str | None = None) -> str:
        """Run pip for a Python, ``None``: our own; what it printed. Raises ``LayerFailed``."""
        chosen = ("--python", python) if python is not None else ()
        return self._run([sys.executable, "-m", "pip", *chosen, *words, "--no-input"], "pip", cwd=Path("/"))

    def npm(self, node: Sequence[str], cli: Path, folder: Path, *words: str) -> str:
        """Run npm in a folder on a Node; what it printed. Raises ``LayerFailed``."""
        quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
        return self._run([*node, str(cli), *words, "--ignore-scripts", *quiet], "npm", cwd=folder, more=self._npms_own)

    @cached_property
    def _npms_own(self) -> Mapping[str, str]:
        """Where the configuration of the machine's own npm is: ours would look beside its Node instead."""
        npm = shutil.which("npm", path=self.environment.get("PATH"))
        if npm is None or any(name.lower() == "npm_config_globalconfig" for name in self.environment):
            return {}
        asked = subprocess.run(
            [npm, "config", "get", "globalconfig"],
            env=dict(self.environment),
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        path = asked.stdout.strip()
        return {"npm_config_globalconfig": path} if asked.returncode == 0 and Path(path).is_file() else {}

    def _run(self, argv: Sequence[str], name: str, cwd: Path, more: Mapping[str, str] | None = None) -> str:
        try:
            done = subprocess.run(
                argv,
                env={**self.environment, **(more or {})},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=_SECONDS,
                umask=0o022,
            )
        except subprocess.TimeoutExpired as error:
            raise LayerFailed(f"{name} had not ended after {_SECONDS:.0f} s") from error
        if done.returncode != 0:
            said = done.stderr.strip() or done.stdout.strip()
            raise LayerFailed(f"{name} ended with {done.returncode}: {said[-_SHOWN:]}")
        return done.stdout
