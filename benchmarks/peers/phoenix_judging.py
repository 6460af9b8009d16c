"""Phoenix's exact match over a data frame; it keeps nothing, so the frame with its scores is written as JSONL."""

import pandas
from phoenix.evals import evaluate_dataframe
from phoenix.evals.metrics import exact_match

from judging import judged


def prepare(examples, _folder):
    """A data frame."""
    return pandas.DataFrame(examples)


def judge(frame, folder):
    """Its scores are a column of objects."""
    scored = evaluate_dataframe(dataframe=frame, evaluators=[exact_match], hide_tqdm_bar=True)
    scored.to_json(folder / "scores.jsonl", orient="records", lines=True)
    scores = zip(scored["id"], scored["exact_match_score"], strict=True)
    return [name for name, score in scores if score["score"] == 1]


if __name__ == "__main__":
    judged(prepare, judge)
