"""Harbor's side of the bridge; the only module that imports Harbor, and imported only when one of its agents runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

# Before litellm is imported: it would fetch its prices from GitHub, which are the gateway's to know.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 - there is no other way to tell it

from harbor.agents.factory import AgentFactory
from harbor.agents.installed.base import BaseInstalledAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.agent.context import AgentContext as TheirContext
from harbor.models.agent.name import AgentName
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from proctor.sandboxes.errors import NothingThere, UnsupportedByBackend
from proctor.sandboxes.interfaces import ExecRequest, Sandbox

__all__ = ["LOGS", "SandboxEnvironment", "TheirContext", "is_installed", "known_agents", "make_theirs"]

LOGS: str = "/logs/agent"
"""Where their agents write in the sandbox what they tell of themselves."""


def known_agents() -> list[str]:
    """The names of Harbor's agents."""
    return list(AgentFactory.registered_names())


def is_installed(name: str) -> bool:
    """Whether it runs in the sandbox; else it runs here and sends commands there."""
    return issubclass(AgentFactory.get_agent_class(AgentName(name)), BaseInstalledAgent)


def make_theirs(name: str, logs: Path, model: str, base_url: str, keys: Mapping[str, str]) -> Any:
    """One of their agents. ``keys``: the variables that it finds the gateway and its token by."""
    kind = AgentFactory.get_agent_class(AgentName(name))
    words: dict[str, Any] = {"logs_dir": logs, "model_name": model, "extra_env": dict(keys)}
    if kind.MODEL_CONNECTION is not None:
        words["base_url"] = base_url
    if name == AgentName.TERMINUS_2.value:
        words["record_terminal_session"] = False  # it would be installed from the network
    return kind(**words)


class SandboxEnvironment(BaseEnvironment):  # type: ignore[misc]  # Harbor is not installed where types are checked
    """One of our sandboxes as Harbor's agents see an environment. It is started and removed by us."""

    def __init__(self, sandbox: Sandbox, folder: Path, user: str | None, workdir: str) -> None:
        self._sandbox, self._workdir = sandbox, workdir
        super().__init__(
            environment_dir=folder,
            environment_name="task",
            session_id=sandbox.id,
            trial_paths=TrialPaths(folder),
            task_env_config=EnvironmentConfig(),
        )
        self.default_user = user

    @staticmethod
    def type() -> str:
        """A name for its records."""
        return "proctor"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Nothing beyond commands and files."""
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        """The sandbox is there already."""

    def _validate_network_policy_support(self) -> None:
        """What it may reach is ours to hold."""

    async def start(self, force_build: bool) -> None:
        """It runs already."""

    async def stop(self, delete: bool) -> None:
        """It is removed by us."""

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in."""
        await self._sandbox.put(Path(source_path).resolve(), target_path)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder's content into a folder."""
        await self._sandbox.put(Path(source_dir).resolve(), target_dir.rstrip("/"))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out, over one that is there."""
        await self._fetch(source_path, Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder's content out, into a folder that may be there."""
        await self._fetch(source_dir.rstrip("/"), Path(target_dir))

    async def _fetch(self, source: str, target: Path) -> None:
        with tempfile.TemporaryDirectory() as name:
            fetched = Path(name) / "fetched"
            try:
                await self._sandbox.get(source, fetched)
            except NothingThere as error:
                raise FileNotFoundError(source) from error
            await asyncio.to_thread(_laid, fetched, target)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a shell command; where the sandbox has no such user, as its own."""
        wanted = self._resolve_user(user)
        request = ExecRequest(
            argv=["bash", "-c", command],
            env=self._merge_env(env) or {},
            user=None if wanted is None else str(wanted),
            cwd=cwd or self._workdir,
            timeout_sec=timeout_sec,
            session="agent",
        )
        try:
            result = await self._sandbox.exec(request)
        except UnsupportedByBackend as refused:
            if refused.where != "user":
                raise
            result = await self._sandbox.exec(replace(request, user=None))
        code = result.exit_code if result.exit_code is not None else 128 + (result.signal or 0)
        out, err = (stream.decode("utf-8", "replace") for stream in (result.stdout, result.stderr))
        return ExecResult(stdout=out, stderr=err, return_code=code)


def _laid(fetched: Path, target: Path) -> None:
    """What came out of a sandbox is hostile: a symlink in it is never followed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if fetched.is_dir():
        shutil.copytree(fetched, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copyfile(fetched, target, follow_symlinks=False)
