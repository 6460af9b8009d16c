"""Langfuse's client: dataset items by its own names in; a page of its API and its items a line out, as it has them."""

import json
import sys
from datetime import datetime

from langfuse.api import DatasetItem, PaginatedDatasetItems
from langfuse.api.utils import MetaResponse

asked = json.load(sys.stdin)
time = datetime.fromisoformat(asked["time"])
dated = {"dataset_id": "d1", "dataset_name": "judged", "created_at": time, "updated_at": time, "version": time}
items = [DatasetItem(**item, **dated, media_references=[]) for item in asked["items"]]
meta = MetaResponse(page=1, limit=50, total_items=len(items), total_pages=1)
json.dump(
    {"page": PaginatedDatasetItems(data=items, meta=meta).json(), "lines": [one.json() for one in items]}, sys.stdout
)
