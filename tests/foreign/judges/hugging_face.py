"""datasets and polars: rows written by ``save_to_disk`` into a folder, and what both read of a Parquet file of ours."""

import json
import sys

import polars
from datasets import Dataset, DatasetDict

asked = json.load(sys.stdin)
if "rows" in asked:
    saved = {name: Dataset.from_list(rows) for name, rows in asked["rows"].items()}
    whole = DatasetDict(saved) if len(saved) > 1 else next(iter(saved.values()))
    whole.save_to_disk(asked["folder"])
    json.dump(None, sys.stdout)
else:
    theirs = Dataset.from_parquet(asked["parquet"], cache_dir=asked["cache"])
    names = ["id", "input", "expected", "tags", "embedding"]
    read = [{name: row[name] for name in names} for row in theirs]
    frame = polars.read_parquet(asked["parquet"]).select(names).to_dicts()
    json.dump({"datasets": read, "polars": frame}, sys.stdout)
