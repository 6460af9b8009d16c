"""Inspect AI's exact match after its mock model said each output: a whole evaluation with its log.

The mock is told its usage, so that no text is tokenized and nothing is looked up on the network.
"""

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import exact

from judging import judged


def prepare(examples, _folder):
    """A task, and a model that knows the answer to each question."""
    outputs = {one["input"]: one["output"] for one in examples}
    samples = [Sample(id=one["id"], input=one["input"], target=one["expected"]) for one in examples]

    def answer(messages, *_):
        output = ModelOutput.from_content("mockllm/model", outputs[messages[-1].text])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    task = Task(dataset=MemoryDataset(samples), scorer=exact(), name="judged")
    return task, get_model("mockllm/model", custom_outputs=answer)


def judge(prepared, folder):
    """``C`` is Inspect's word for right."""
    task, model = prepared
    [log] = eval(task, model=model, log_dir=str(folder), display="none")
    if log.status != "success":
        raise SystemExit(f"{log.status}: {log.error}")
    return [sample.id for sample in log.samples if sample.scores["exact"].value == "C"]


if __name__ == "__main__":
    judged(prepare, judge)
