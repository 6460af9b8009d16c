"""Harbor's packager and task loader: a list of folders in, each one's content digest, name and file list out."""

import json
import sys
from pathlib import Path

from harbor.models.task.task import Task
from harbor.publisher.packager import Packager

answers = {}
for folder in json.load(sys.stdin):
    task = Task(Path(folder))
    digest, files = Packager.compute_content_hash(Path(folder))
    answers[folder] = {"digest": digest, "name": task.name, "instruction": task.instruction, "files": len(files)}
json.dump(answers, sys.stdout)
