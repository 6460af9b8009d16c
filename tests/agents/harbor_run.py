"""Run by a Python that has Harbor: one of its agents in a sandbox against our gateway; prints what it left.

``python harbor_run.py NAME MODEL SCRIPT LAYERS``
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from proctor.agents.catalogue import build_agent
from proctor.agents.layers.store import LayerStore
from proctor.sandboxes.interfaces import Limits, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from tests.agents.conftest import working
from tests.contracts.sandboxes import labels


async def main(name: str, model: str, script: str, layers: str) -> None:
    """One attempt."""
    agent = build_agent(name, {})
    trees = LayerStore(folder=Path(layers)).prepare(agent.layers)
    with tempfile.TemporaryDirectory(prefix="sandboxes-") as folder:
        Path(folder).chmod(0o711)
        spec = SandboxSpec(labels=labels(), relay=True, layers=trees, limits=Limits(memory_mb=2048))
        async with working(LocalBackend(Path(folder)), spec, agent, model, script) as at:
            run = await at.work(seconds=60)
            await agent.close()
            solution = await at.sandbox.read("/app/solution.txt", 100)
    print(
        json.dumps(
            {
                "exit": None if run.exec is None else run.exec.exit_code,
                "limit": run.limit,
                "usage": None if run.usage is None else run.usage.input_tokens,
                "steps": [step.model_dump(exclude_none=True) for step in at.steps],
                "paths": sorted({request.path for request in at.asked}),
                "solution": None if solution is None else solution.decode(),
                "version": agent.identity.version,
                "token": at.session.token in json.dumps([step.model_dump_json() for step in at.steps]),
                "counted": at.session.totals.usage.total,
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
