"""Harbor's trajectory models: a list of files in, each one's agent and number of steps out; an invalid one raises."""

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory

answers = []
for file in json.load(sys.stdin):
    trajectory = Trajectory.model_validate_json(Path(file).read_bytes())
    sources = [step.source for step in trajectory.steps]
    answers.append({"agent": trajectory.agent.name, "schema": trajectory.schema_version, "sources": sources})
json.dump(answers, sys.stdout)
