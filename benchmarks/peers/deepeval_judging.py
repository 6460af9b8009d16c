"""DeepEval's exact match through its ``evaluate``, with the file of the test run that it keeps."""

from deepeval import evaluate
from deepeval.evaluate import CacheConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase

from judging import judged


def prepare(examples, _folder):
    """Test cases."""
    return [
        LLMTestCase(name=one["id"], input=one["input"], actual_output=one["output"], expected_output=one["expected"])
        for one in examples
    ]


def judge(cases, folder):
    """The score of the one metric of each."""
    shown = DisplayConfig(
        show_indicator=False, print_results=False, results_folder=str(folder), inspect_after_run=False
    )
    done = evaluate(cases, [ExactMatchMetric()], display_config=shown, cache_config=CacheConfig(write_cache=False))
    return [result.name for result in done.test_results if result.metrics_data[0].score == 1]


if __name__ == "__main__":
    judged(prepare, judge)
