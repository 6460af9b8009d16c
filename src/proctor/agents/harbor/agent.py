"""One of Harbor's agents as one of ours: run here or in the sandbox, its models behind our gateway."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Mapping
from dataclasses import astuple
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any

from proctor.agents.errors import AgentSetupFailed, ProfileInvalid
from proctor.agents.harbor.exceptions import meaning
from proctor.agents.harbor.loopback import Loopback
from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentLimit, AgentRun, Asks, ModelAccess, Usage
from proctor.agents.layers.locks import Layer
from proctor.agents.layers.python import PYTHON_PLACE, find_interpreter, python_command, python_layer
from proctor.agents.trajectory import TrajectoryInvalid, parse
from proctor.kernel.errors import ProctorError
from proctor.kernel.money import NANO
from proctor.sandboxes.interfaces import ExecRequest, ExecResult

__all__ = ["PREFIX", "HarborAgent", "build_harbor"]

PREFIX: str = "harbor:"
_PORT_FILE: str = "/tmp/proctor-port"  # noqa: S108 - inside the sandbox
_LISTEN_SEC: float = 20.0
_TRAJECTORY: str = "trajectory.json"
_TRAJECTORY_BYTES: int = 64 * 1024**2
_CRASHED = ExecResult(exit_code=1, signal=None)


def build_harbor(name: str) -> HarborAgent:
    """The agent of that name, ``harbor:NAME``. Raises ``ProfileInvalid`` where there is none, or no Harbor."""
    try:
        found = version("harbor")
        from proctor.agents.harbor.inside import known_agents
    except (PackageNotFoundError, ImportError) as error:
        told = "Harbor's agents need Proctor on Python 3.12 or later with its extra: pip install -e '.[harbor]'."
        raise ProfileInvalid(told, where="agent") from error
    theirs = name.removeprefix(PREFIX)
    if theirs not in known_agents():
        raise ProfileInvalid(f"Harbor has no agent {theirs!r}; it has {', '.join(known_agents())}.", where="agent")
    return HarborAgent(theirs, found)


class HarborAgent:
    """Runs one of Harbor's agents. What it spends is the gateway's to count, else what it tells of itself."""

    asks = Asks.SANDBOX

    def __init__(self, name: str, harbor: str) -> None:
        """``name`` without the prefix; ``harbor``: its version, which is all of theirs that we know."""
        self._name = name
        self.layers: tuple[Layer, ...] = (python_layer(find_interpreter(_own_python(), f"{PREFIX}{name}")),)
        self.identity = AgentIdentity(name=f"{PREFIX}{name}", version=harbor, layer_digest=self.layers[0].digest)
        self._theirs: Any = None
        self._listening: asyncio.Task[ExecResult] | None = None
        self._loopback: Loopback | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._environment: Any = None

    async def setup(self, context: AgentContext) -> None:
        """Lead it to the gateway and install it as Harbor does. Raises ``AgentSetupFailed``."""
        from proctor.agents.harbor.inside import SandboxEnvironment, is_installed, make_theirs

        models = _models(context)
        address = await (self._inside if is_installed(self._name) else self._here)(context, models)
        self._folder = tempfile.TemporaryDirectory(prefix="proctor-harbor-")
        logs = Path(self._folder.name) / "agent"
        logs.mkdir()
        try:
            self._environment = SandboxEnvironment(
                context.sandbox, Path(self._folder.name), context.user, context.workdir
            )
            keys = _variables(address, models.token)
            self._theirs = make_theirs(self._name, logs, models.model, f"{address}/v1", {**context.env, **keys})
            await self._theirs.setup(self._environment)
        except ProctorError:
            raise
        except Exception as error:  # whatever Harbor raises while it installs: no agent has worked yet
            raise AgentSetupFailed(f"{type(error).__name__}: {error}") from error

    async def run(self, context: AgentContext) -> AgentRun:
        """Run it to its end or the time limit; its trajectory and what it used become ours."""
        from proctor.agents.harbor.inside import TheirContext

        told = TheirContext()
        try:
            async with asyncio.timeout(context.timeout_sec):
                await self._theirs.run(context.instruction, self._environment, told)
            run = AgentRun(exec=ExecResult(exit_code=0, signal=None))
        except ProctorError:
            raise
        except Exception as error:  # noqa: BLE001 - any of Harbor's, by its name
            run = _ended(error)
        finally:
            await context.sandbox.kill_session("agent")
        await self._tell(context, told)
        return AgentRun(exec=run.exec, limit=run.limit, refused=run.refused, usage=_usage(context, told))

    # --- the way to the gateway -------------------------------------------------------------------------------------

    async def _here(self, context: AgentContext, models: ModelAccess) -> str:
        """A port of this machine's loopback, for an agent that runs in this process."""
        if context.sandbox.relay is None:
            raise AgentSetupFailed("the sandbox has no relay")
        self._loopback = Loopback(context.sandbox.relay / PurePosixPath(models.socket).name)
        return f"http://127.0.0.1:{await self._loopback.open()}"

    async def _inside(self, context: AgentContext, models: ModelAccess) -> str:
        """A port of the sandbox's own loopback; the bridge holds it as long as the sandbox is there."""
        bridge = (*python_command(f"{PYTHON_PLACE}/bridge.py"), models.socket)
        hold = (
            "sh",
            "-c",
            f"echo @PROCTOR_PORT@ > {_PORT_FILE}.new && mv {_PORT_FILE}.new {_PORT_FILE}; exec sleep infinity",
        )
        request = ExecRequest(argv=[*bridge, *hold], user=context.user, cwd="/", session="bridge")
        self._listening = asyncio.create_task(context.sandbox.exec(request))
        async with asyncio.timeout(_LISTEN_SEC):
            while not (port := await context.sandbox.read(_PORT_FILE, 16)):
                if self._listening.done():
                    raise AgentSetupFailed(self._listening.result().stderr.decode("utf-8", "replace")[-500:])
                await asyncio.sleep(0.05)
        return f"http://127.0.0.1:{int(port)}"

    # --- what it left ------------------------------------------------------------------------------------------------

    async def _tell(self, context: AgentContext, told: Any) -> None:
        """Its files are read by Harbor's own readers, which a hostile log may break: then nothing is told."""
        from proctor.agents.harbor.inside import LOGS

        with contextlib.suppress(Exception):
            if self._listening is not None:
                await self._environment.download_dir(LOGS, self._theirs.logs_dir)
                self._theirs.populate_context_post_run(told)
        with contextlib.suppress(OSError, TrajectoryInvalid):
            path = self._theirs.logs_dir / _TRAJECTORY
            if context.on_step is None or path.is_symlink() or path.stat().st_size > _TRAJECTORY_BYTES:
                return
            for step in parse(path.read_bytes()).steps:
                if step.source == "agent":
                    context.on_step(lambda number, step=step: step.model_copy(update={"step_id": number}))  # type: ignore[misc]

    async def close(self) -> None:
        """Close what listens here and forget its files."""
        if self._loopback is not None:
            await self._loopback.close()
        if self._listening is not None:
            self._listening.cancel()
        if self._folder is not None:
            self._folder.cleanup()


def _own_python() -> tuple[str, ...]:
    import sys

    return (f"{sys.version_info[0]}.{sys.version_info[1]}",)


def _models(context: AgentContext) -> ModelAccess:
    if context.models is None:
        raise ProfileInvalid("This agent needs a model.", where="model")
    return context.models


def _variables(address: str, token: str) -> Mapping[str, str]:
    """By which its agents look for a provider; each finds the gateway whichever it takes."""
    return {
        "OPENAI_API_KEY": token,
        "OPENAI_API_BASE": f"{address}/v1",
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_API_KEY": token,
        "ANTHROPIC_BASE_URL": address,
        "GEMINI_API_KEY": token,
        "GOOGLE_GEMINI_BASE_URL": address,
        "LLM_API_KEY": token,
        "LLM_BASE_URL": f"{address}/v1",
    }


def _ended(error: Exception) -> AgentRun:
    found = meaning(error)
    if found.setup:
        raise AgentSetupFailed(f"{type(error).__name__}: {error}") from error
    if found.limit is AgentLimit.TIME:
        return AgentRun(exec=ExecResult(exit_code=None, signal=9), limit=found.limit)
    return AgentRun(exec=_CRASHED, limit=found.limit, refused=found.refused)


def _usage(context: AgentContext, told: Any) -> Usage:
    counted = _models(context).usage()
    if any(value is not None for value in astuple(counted)) or told.n_input_tokens is None:
        return counted
    cached = told.n_cache_tokens or 0
    cost = None if told.cost_usd is None else round(told.cost_usd * NANO)
    return Usage(
        input_tokens=max(0, told.n_input_tokens - cached),
        cache_read_tokens=cached,
        output_tokens=told.n_output_tokens,
        cost_nano=cost,
    )
