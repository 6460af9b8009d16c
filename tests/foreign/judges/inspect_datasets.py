"""Inspect AI: paths of datasets in, the samples that its own readers make of each out."""

import json
import sys

from inspect_ai.dataset import csv_dataset, json_dataset


def said(sample):
    """A sample as JSON; messages as roles and contents."""
    told = sample.input
    return {
        "id": None if sample.id is None else str(sample.id),
        "input": told if isinstance(told, str) else [[one.role, one.content] for one in told],
        "target": sample.target,
        "choices": sample.choices,
        "metadata": sample.metadata,
        "files": sample.files,
        "setup": sample.setup,
        "sandbox": None if sample.sandbox is None else [sample.sandbox.type, sample.sandbox.config],
    }


answers = []
for path in json.load(sys.stdin):
    dataset = csv_dataset(path) if path.endswith(".csv") else json_dataset(path)
    answers.append([said(sample) for sample in dataset])
json.dump(answers, sys.stdout)
