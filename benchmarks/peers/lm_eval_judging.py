"""lm-evaluation-harness's exact match: a task over a local JSONL file, and a model that says the given outputs."""

import json

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from judging import judged


class Given(LM):
    """Says what is known of each prompt."""

    def __init__(self, outputs):
        super().__init__()
        self._outputs = outputs

    def generate_until(self, requests, disable_tqdm=False):
        """One output for each request."""
        return [self._outputs[request.args[0]] for request in requests]

    def loglikelihood(self, requests, disable_tqdm=False):
        """No task here asks for it."""
        raise SystemExit("outputs are given, and likelihoods are not")

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        """No task here asks for it."""
        raise SystemExit("outputs are given, and likelihoods are not")


def prepare(examples, folder):
    """A task's settings, with its file, the model, and a list of tasks without those that come with the harness.

    To read those takes ten seconds, once a process.
    """
    path = folder / "examples.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in examples))
    task = {
        "task": "judged",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(path)}, "cache_dir": str(folder.parent / "cache")},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{input}}",
        "doc_to_target": "{{expected}}",
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    return task, Given({one["input"]: one["output"] for one in examples}), TaskManager(include_defaults=False)


def judge(prepared, folder):
    """The results and every sample, as its command keeps them with ``--log_samples``."""
    task, model, known = prepared
    tracker = EvaluationTracker(output_path=str(folder))
    done = simple_evaluate(model, tasks=[task], task_manager=known, evaluation_tracker=tracker, log_samples=True)
    samples = done.pop("samples")
    tracker.save_results_aggregated(results=done, samples=samples)
    tracker.save_results_samples(task_name="judged", samples=samples["judged"])
    return [sample["doc"]["id"] for sample in samples["judged"] if sample["exact_match"] == 1]


if __name__ == "__main__":
    judged(prepare, judge)
