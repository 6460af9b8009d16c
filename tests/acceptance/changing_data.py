"""What changes datasets, evaluators and jobs from afar, for ``test_every_command.py``."""

from __future__ import annotations

from tests.acceptance.places import Place

__all__ = ["datasets", "derivations", "evaluators", "jobs", "prompts", "streams"]


def datasets(place: Place) -> None:
    """The same file is the same version, and written out the same file, whoever does it."""
    place.desk.write("rows.jsonl", '{"id": "a", "input": "x", "tags": ["t"]}\n{"id": "b", "input": "x"}\n')
    code, dry = place.there("dataset", "import", "rows.jsonl", "--name", "made", "--dry-run")
    assert (code, dry["made"], dry["version"]) == (0, True, None)
    code, made = place.there("dataset", "import", "rows.jsonl", "--name", "made", "--metadata", "by=hand")
    assert (code, made["label"], made["version"]["metadata"]) == (0, "1.0.0", {"by": "hand"})
    assert place.there("dataset", "import", "rows.jsonl", "--name", "made")[1]["made"] is False
    assert place.here("dataset", "export", "made", "--to", "here.csv")[0] == 0
    assert place.there("dataset", "export", "made", "--to", "there.csv")[0] == 0
    here, there = ((place.desk.folder / name).read_bytes() for name in ("here.csv", "there.csv"))
    assert here == there != b""
    assert place.there("dataset", "export", "made", "--to", "there.csv")[1]["error"]["code"] == "file-taken"
    place.desk.write("bad.jsonl", '{"id": "a"}\n')
    told = [ask("dataset", "import", "bad.jsonl", "--name", "bad") for ask in (place.here, place.there)]
    assert told[0] == told[1]
    assert told[0][1]["error"]["code"] == "dataset-rows"


def derivations(place: Place) -> None:
    """Every kind of version that is made of another."""
    place.desk.write("labels.jsonl", '{"id": "a", "difficulty": "hard"}\n')
    for words in (
        ("filter", "shown", "--tag", "t", "--name", "kept"),
        ("filter", "shown", "--query", "tag=t -note=*", "--name", "found"),
        ("merge", "shown@1.0.0", "shown", "--prefer", "first", "--name", "both"),
        ("relabel", "shown", "--labels", "labels.jsonl"),
        ("dedupe", "shown", "--name", "once"),
        ("sample", "shown", "--size", "1", "--seed", "7", "--by", "difficulty", "--name", "drawn"),
    ):
        code, done = place.there("dataset", *words)
        assert (code, done["made"]) == (0, True), done
    code, split = place.there("dataset", "split", "shown", "train=0.5", "test=0.5", "--seed", "3")
    assert (code, [one["name"] for one in split["splits"]]) == (0, ["train", "test"])


def evaluators(place: Place) -> None:
    """Registered from afar, it is there, and judges on the server's machine."""
    place.desk.write("evaluator.toml", 'name = "near"\ntype = "numeric"\n[configuration]\nrelative = 0.1\n')
    code, made = place.there("evaluators", "register", "evaluator.toml")
    assert (code, made["row"]["reference"]) == (0, "near@1")
    assert place.here("evaluators", "register", "evaluator.toml") == (0, made)
    assert place.there("evaluators", "show", "near") == (0, made)
    trials = [
        ask("evaluators", "try", "near", "--expected", "40", "--output", "42") for ask in (place.here, place.there)
    ]
    assert [(code, trial["score"], trial["digest"]) for code, trial in trials] == [(0, 1, made["row"]["digest"])] * 2


def prompts(place: Place) -> None:
    """The same texts are the same version, wherever they were added."""
    place.desk.write("prompt.txt", "In one word: {{input}}\n")
    code, made = place.there("prompts", "add", "short", "--prompt", "prompt.txt")
    assert (code, made["new"], made["prompt"]["row"]["reference"]) == (0, True, "short@1")
    assert place.here("prompts", "add", "short", "--prompt", "prompt.txt") == (0, {**made, "new": False})
    assert place.there("prompts", "show", "short@1") == (0, made["prompt"])


def jobs(place: Place) -> None:
    """Sent from afar it is done by the server's own evaluators; what is asked of it is the same here."""
    place.desk.write("more.jsonl", '{"id": "a", "output": "z"}\n')
    code, kept = place.there("samples", "add", "shown", "more.jsonl", "--model", "m")
    assert (code, kept["new"], kept["samples"]["outputs"], kept["samples"]["model"]) == (0, True, 1, "m")
    assert place.here("samples", "add", "shown", "more.jsonl", "--model", "m")[1]["new"] is False
    code, done = place.there("evaluate", "shown", "--outputs", "more", "-e", "exact-match", "--name", "again")
    assert (code, done["job"]["state"], done["done"]) == (0, "complete", done["expected"])
    assert place.here("job", "show", "again") == (0, done)
    assert place.there("job", "resume", "again")[1]["error"]["code"] == "job-ended"
    assert place.there("job", "cancel", "again")[1]["error"]["code"] == "job-ended"
    assert place.there("job", "pause", "gone")[1]["error"]["code"] == "job-unknown"
    code, held = place.there("job", "hold", "again", "--reason", "case 7")
    assert (code, held["job"]["hold"]["reason"]) == (0, "case 7")
    assert place.here("job", "show", "again")[1]["job"] == held["job"]
    assert place.there("job", "delete", "again")[1]["error"]["code"] == "job-held"
    assert place.there("samples", "delete", "more")[1]["error"]["code"] == "samples-used"
    assert place.there("job", "release", "again") == (0, {"job": done["job"]})
    days = {"result_days": 7, "rollup_days": 90}
    assert place.there("job", "retention", "--results", "7", "--rollups", "90") == (0, days)
    assert place.here("job", "retention") == (0, days)
    assert place.there("job", "retention", "--results", "91")[1]["error"]["code"] == "retention-invalid"
    code, gone = place.there("job", "delete", "again")
    assert (code, gone["job"]["state"]) == (0, "deleted")
    assert place.here("job", "show", gone["job"]["id"])[1]["job"] == gone["job"]
    assert place.there("samples", "delete", "more")[1]["samples"] == kept["samples"]


def streams(place: Place) -> None:
    """Opened and sent to from afar, its rows are judged there while it is open; the same again changes nothing."""
    code, opened = place.there("stream", "open", "chat", "-e", "exact-match", "-e", "contains")
    assert (code, opened["job"]["open"], opened["job"]["kept"]) == (0, True, False)
    assert place.there("stream", "open", "chat", "-e", "contains")[1]["error"]["code"] == "stream-taken"
    place.desk.write(
        "chat.jsonl", '{"id": "a", "expected": "x", "output": "x"}\nnonsense\n{"id": "b", "output": "y"}\n'
    )
    for _ in range(2):
        assert place.there("stream", "append", "chat", "chat.jsonl") == (0, {"rows": 2, "refused": 1})
    while place.there("job", "show", "chat")[1]["done"] < 4:
        pass  # the server's own evaluators do it; the test's timeout ends a wait for none
    assert place.there("stream", "show", "chat")[1]["refused"] == 1
    there = place.there("stream", "feed", "chat", "--nats", "nats://u:p@h", "--stream", "s", "--consumer", "c")
    assert there[1]["error"]["code"] == "source-unusable"
    assert place.there("stream", "append", "chat", "gone.jsonl")[1]["error"]["code"] == "source-unusable"
    code, done = place.there("stream", "close", "chat")
    assert (code, done["job"]["state"], done["done"]) == (0, "complete", 4)
    assert place.here("job", "show", "chat") == (0, done)
    assert place.there("stream", "append", "chat", "chat.jsonl") == (0, {"rows": 2, "refused": 1})
    place.desk.write("late.jsonl", '{"id": "c", "output": "z"}\n')
    assert place.there("stream", "append", "chat", "late.jsonl")[1]["error"]["code"] == "stream-closed"
    assert place.there("job", "delete", "chat")[1]["job"]["state"] == "deleted"
