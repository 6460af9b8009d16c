"""MLflow's evaluation of outputs that are there, with a scorer of one line; a trace and its score in a SQLite file."""

import mlflow
from mlflow.genai import evaluate
from mlflow.genai.scorers import scorer

from judging import judged


@scorer
def exact_match(outputs, expectations):
    """MLflow has no exact match of its own for this."""
    return float(outputs.strip() == expectations["expected_response"].strip())


def prepare(examples, folder):
    """A store with its tables, and rows."""
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    mlflow.create_experiment("judged", artifact_location=str(folder / "artifacts"))
    mlflow.set_experiment("judged")
    return [
        {
            "inputs": {"question": one["input"], "name": one["id"]},
            "outputs": one["output"],
            "expectations": {"expected_response": one["expected"]},
        }
        for one in examples
    ]


def judge(rows, _folder):
    """Scores stand in a data frame beside what each trace was asked."""
    frame = evaluate(data=rows, scorers=[exact_match]).result_df
    scores = zip(frame["request"], frame["exact_match/value"], strict=True)
    return [asked["name"] for asked, score in scores if score == 1]


if __name__ == "__main__":
    judged(prepare, judge)
