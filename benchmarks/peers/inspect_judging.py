"""Inspect AI's exact match over outputs that stand in a log: it is read, scored, and written with its scores."""

from datetime import UTC, datetime

from inspect_ai import score
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import exact

from judging import judged


def prepare(examples, folder):
    """A log with an output for each sample and no scores yet."""
    samples = [
        EvalSample(
            id=one["id"],
            epoch=1,
            input=one["input"],
            target=one["expected"],
            output=ModelOutput.from_content("mockllm/model", one["output"]),
        )
        for one in examples
    ]
    spec = EvalSpec(
        created=datetime.now(UTC).isoformat(),
        task="judged",
        dataset=EvalDataset(samples=len(samples)),
        model="mockllm/model",
        config=EvalConfig(),
    )
    path = folder / "given.eval"
    write_eval_log(EvalLog(status="success", eval=spec, samples=samples), str(path))
    return path


def judge(path, folder):
    """``C`` is Inspect's word for right."""
    log = score(read_eval_log(str(path)), exact(), display="none")
    write_eval_log(log, str(folder / "scored.eval"))
    return [sample.id for sample in log.samples if sample.scores["exact"].value == "C"]


if __name__ == "__main__":
    judged(prepare, judge)
