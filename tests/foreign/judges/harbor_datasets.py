"""Harbor's dataset manifest: a list of dataset.toml texts in, each one's name, version and hash out."""

import json
import sys

from harbor.models.dataset.manifest import DatasetManifest

answers = []
for text in json.load(sys.stdin):
    manifest = DatasetManifest.from_toml(text)
    answers.append(
        {"label": [manifest.dataset.name, manifest.dataset.version], "hash": manifest.compute_content_hash()}
    )
json.dump(answers, sys.stdout)
