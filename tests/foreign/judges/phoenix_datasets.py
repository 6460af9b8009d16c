"""Phoenix's client: examples and a folder in; its dataset as JSON and its data frame as JSONL in the folder."""

import json
import sys
from pathlib import Path

from phoenix.client.resources.datasets import Dataset

asked = json.load(sys.stdin)
folder = Path(asked["folder"])
dataset = Dataset(
    {"id": "d1", "name": "judged", "metadata": {}, "created_at": asked["time"], "updated_at": asked["time"]},
    {"dataset_id": "d1", "version_id": "v1", "examples": asked["examples"]},
)
(folder / "dataset.json").write_text(json.dumps(dataset.to_dict(), indent=2))
dataset.to_dataframe().reset_index().to_json(folder / "frame.jsonl", orient="records", lines=True)
json.dump(None, sys.stdout)
