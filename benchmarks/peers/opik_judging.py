"""Opik's exact match through its evaluation of plain items, the one that asks no server and makes no experiment.

Its results stay in memory, so they are written as JSONL here. Its traces, which a server would keep, are off.
"""

import json

from opik import evaluate_on_dict_items
from opik.evaluation.metrics import Equals

from judging import judged


def prepare(examples, _folder):
    """Items with other names: ``id`` is Opik's own word."""
    return [{"name": one["id"], "answer": one["output"], "reference": one["expected"]} for one in examples]


def judge(items, folder):
    """The one score of each item."""
    done = evaluate_on_dict_items(items, lambda item: {"output": item["answer"]}, [Equals(case_sensitive=True)])
    found = {one.test_case.dataset_item_content["name"]: one.score_results[0].value for one in done.test_results}
    with open(folder / "scores.jsonl", "w") as file:
        for name, value in found.items():
            file.write(json.dumps({"id": name, "exact_match": value}) + "\n")
    return [name for name, value in found.items() if value == 1]


if __name__ == "__main__":
    judged(prepare, judge)
