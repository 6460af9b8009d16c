"""Null trials of Harbor: its nop agent, its own verifier and result files, over an environment in memory.

Run by the Python of Harbor's own environment: ``python harbor_null.py TRIALS SLOTS``.
"""

import asyncio
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.trial.trial import Trial

WARM_UP: int = 20
"""Trials before the clock starts: the first pay for imports."""


class NullEnvironment(BaseEnvironment):
    """Starts nothing; every command succeeds, and the verifier's folder holds a reward of one."""

    @staticmethod
    def type():
        """Its name."""
        return "null"

    @property
    def capabilities(self):
        """What tasks without a network ask for."""
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self):
        """Harbor asks every environment for it; there is no definition here to be wrong."""

    async def start(self, force_build):
        """Nothing to start."""

    async def stop(self, delete):
        """Nothing to stop."""

    async def upload_file(self, source_path, target_path):
        """Nothing is kept."""

    async def upload_dir(self, source_dir, target_dir):
        """Nothing is kept."""

    async def download_file(self, source_path, target_path):
        """An empty file."""
        Path(target_path).write_bytes(b"")

    async def download_dir(self, source_dir, target_dir):
        """The reward, where it is asked for."""
        if "verifier" in str(source_dir):
            Path(target_dir, "reward.txt").write_text("1\n")

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        """Done."""
        return ExecResult(stdout="", stderr="", return_code=0)


def write_task(folder):
    """One task with a verifier that the environment answers."""
    (folder / "tests").mkdir(parents=True)
    (folder / "environment").mkdir()
    (folder / "task.toml").write_text('schema_version = "1.4"\n[environment]\nnetwork_mode = "no-network"\n')
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (folder / "tests" / "test.sh").write_text("#!/bin/bash\n")
    return folder


async def one(task, trials_dir, number, slots):
    """A whole trial, with its files."""
    async with slots:
        config = TrialConfig(
            task=TaskConfig(path=task),
            trials_dir=trials_dir,
            trial_name=f"null-{number}",
            agent=AgentConfig(name="nop"),
            environment=EnvironmentConfig(import_path="harbor_null:NullEnvironment"),
        )
        trial = await Trial.create(config)
        result = await trial.run()
        if result.exception_info is not None or result.verifier_result.rewards != {"reward": 1.0}:
            raise SystemExit(str(result.exception_info))


async def measure(trials, slots):
    """Seconds for so many trials, so many at once."""
    with tempfile.TemporaryDirectory() as name:
        task, free = write_task(Path(name, "task")), asyncio.Semaphore(slots)
        started = time.perf_counter()
        await asyncio.gather(*(one(task, Path(name, "trials"), number, free) for number in range(trials)))
        return time.perf_counter() - started


def main():
    """Warm up, measure, print."""
    logging.disable(logging.CRITICAL)
    trials, slots = int(sys.argv[1]), int(sys.argv[2])
    asyncio.run(measure(WARM_UP, slots))
    seconds = asyncio.run(measure(trials, slots))
    print(json.dumps({"nop": {"samples": trials, "seconds": seconds, "per_sec": trials / seconds}}))


if __name__ == "__main__":
    main()
