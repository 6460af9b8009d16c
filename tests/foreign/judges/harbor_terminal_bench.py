"""Harbor's mapper of Terminal-Bench 1 tasks: a task's folder in, the settings of the task it makes of it out."""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

from harbor.mappers.terminal_bench import TerminalBenchMapper
from harbor.models.task.task import Task

source = Path(json.load(sys.stdin))
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    task = Task(TerminalBenchMapper()._map_task(source, Path(folder) / source.name))
answer = {
    "instruction": task.instruction,
    "agent_sec": task.config.agent.timeout_sec,
    "verifier_sec": task.config.verifier.timeout_sec,
    "metadata": json.loads(json.dumps(task.config.metadata, default=str)),
}
json.dump(answer, sys.stdout)
