"""Trajectories as they are read in parts: columns, pages, a search, and what is kept of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from proctor.agents.trajectory import TrajectoryInvalid
from proctor.engine.segments import segment_key
from proctor.engine.step_columns import facts_of
from proctor.engine.step_maps import FOLDER, LARGE_BYTES, keep_map
from proctor.engine.step_reading import PAGE_BYTES, TEXT_CHARS, KeptSteps, Steps, StepUnknown
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectDamaged, ObjectStore, StoredObject

TENANT = new_id()
Step = dict[str, Any]


def said(text: str, **more: Any) -> Step:
    return {"source": "agent", "message": text, **more}


def called(arguments: Mapping[str, Any], content: str = "", **extra: Any) -> Step:
    result = {"source_call_id": "c", "content": content, **({"extra": extra} if extra else {})}
    call = {"tool_call_id": "c", "function_name": "tool", "arguments": dict(arguments)}
    return {"source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result]}}


def steps_of(*given: Step) -> Steps:
    steps = Steps()
    for one in given:
        steps.add(one)
    return steps


def stored(objects: ObjectStore, attempt: UUID, given: list[Step], **more: Any) -> StoredObject:
    return objects.put(f"{TENANT}/attempts/{attempt}/trajectory.json", json.dumps({"steps": given, **more}).encode())


def test_an_index_has_a_column_for_each_fact() -> None:
    index = steps_of(
        {"source": "user", "message": "Do it.", "timestamp": "2026-07-01T02:00:00+00:00"},
        said("I will.", timestamp="2026-07-01T02:00:04.5+00:00", metrics={"prompt_tokens": 12, "completion_tokens": 3}),
        called({"command": "make"}, "no rule\n[exit 2]"),
        called({"path": "a", "old_str": "x", "new_str": "y"}),
    ).index()
    assert (index.first, index.steps, index.kinds, index.running) == (1, 4, "umcc", False)
    assert (index.at, index.input_tokens, index.output_tokens) == (
        [0.0, 4.5, None, None],
        [None, 12, None, None],
        [None, 3, None, None],
    )
    assert (index.failed, index.edits) == ([3], [4])
    assert len(index.sizes) == 4


def test_a_column_that_no_step_fills_is_unknown() -> None:
    index = steps_of(said("a"), said("b")).index()
    assert (index.at, index.input_tokens, index.output_tokens, index.began) == (None, None, None, None)


def test_an_index_goes_on_after_a_step() -> None:
    steps = steps_of(*(called({"command": "x"}, "[exit 1]") for _ in range(5)))
    index = steps.index(after=3)
    assert (index.first, index.steps, index.kinds, index.failed) == (4, 5, "cc", [4, 5])
    assert steps.index(after=9).kinds == ""


@pytest.mark.parametrize(
    ("step", "failed"),
    [
        (called({}, "fine\n[exit 0]"), False),
        (called({}, "bad\n[exit 130]"), True),
        (called({}, "gone[signal 9]"), True),
        (called({}, "I wrote [exit 1] in the middle of it\nand went on"), False),
        (called({}, "Traceback (most recent call last):\n  x\nKeyError"), True),
        (called({}, "ok", is_error=True), True),
        (called({}, "ok", exit_code=0), False),
        (called({}, "ok", exit_code=2), True),
        (said("Traceback (most recent call last):"), False),
        ({"source": "agent", "message": 3, "observation": [], "tool_calls": "x"}, False),
    ],
)
def test_what_failed_is_read_off_how_outputs_end(step: Step, failed: bool) -> None:
    assert facts_of(step).failed is failed


@pytest.mark.parametrize(
    ("arguments", "edits"),
    [
        ({"file_path": "a", "old_string": "x", "new_string": "y"}, True),
        ({"path": "a", "content": "x"}, True),
        ({"input": "*** Begin Patch\n"}, True),
        ({"command": "echo content > path"}, False),
        ({"path": "a"}, False),
        ({}, False),
    ],
)
def test_what_edits_is_read_off_what_a_call_is_given(arguments: Mapping[str, Any], edits: bool) -> None:
    assert facts_of(called(arguments)).edits is edits


def test_pages_hold_what_was_asked_for() -> None:
    steps = steps_of(*(said(str(number)) for number in range(1, 8)))
    page = steps.page(first=3, limit=3)
    assert [(one.number, one.step["message"], one.cut) for one in page.items] == [(3, "3", 0), (4, "4", 0), (5, "5", 0)]
    assert steps.page(first=7, limit=100).items[0].number == 7
    assert steps.page(first=8, limit=100).items == []


def test_a_page_of_large_steps_is_shorter() -> None:
    steps = steps_of(*(said("x" * 200_000) for _ in range(60)))
    page = steps.page(first=1, limit=60)
    assert len(page.items) == PAGE_BYTES // 200_100


def test_long_texts_lose_their_middle_and_say_how_much() -> None:
    text = "BEGIN" + "x" * 2 * TEXT_CHARS + "END"
    steps = steps_of(called({"command": "yes"}, text))
    (body,) = steps.page(first=1, limit=1).items
    content = body.step["observation"]["results"][0]["content"]
    assert content.startswith("BEGIN")
    assert content.endswith("END")
    assert body.cut == len(text) - TEXT_CHARS
    assert f"… {body.cut:,} characters left out …" in content
    assert json.loads(steps.line(1))["observation"]["results"][0]["content"] == text


def test_a_step_of_many_long_texts_is_cut_as_a_whole() -> None:
    result = {"content": "y" * TEXT_CHARS}
    step = {"source": "agent", "message": "", "observation": {"results": [result] * 50}}
    (body,) = steps_of(step).page(first=1, limit=1).items
    assert len(json.dumps(body.step)) < 5 * TEXT_CHARS
    assert 46 * TEXT_CHARS <= body.cut < 47 * TEXT_CHARS


def test_a_step_that_there_is_not_is_refused() -> None:
    for number in (0, 2):
        with pytest.raises(StepUnknown):
            steps_of(said("a")).line(number)


def test_find_looks_at_every_text_and_at_nothing_else() -> None:
    steps = steps_of(
        said("Nothing here."),
        said("", reasoning_content="Where is the NEEDLE?"),
        called({"deep": [{"er": "a needle\nin a line"}]}),
        called({}, 'say "needle"'),
        said("the end", extra={"note": "needle"}),
    )
    found = steps.find("needle")
    assert [(one.number, one.place) for one in found.items] == [(2, "reasoning"), (3, "call"), (4, "result")]
    assert found.next is None
    assert steps.find("message").items == steps.find("source_call_id").items == []
    assert [one.number for one in steps.find('"needle"').items] == [4]
    assert [one.number for one in steps.find("needle\nin").items] == [3]


def test_find_goes_on_where_it_stopped() -> None:
    steps = steps_of(*(said("again") for _ in range(5)))
    first = steps.find("again", limit=2)
    assert ([one.number for one in first.items], first.next) == ([1, 2], 2)
    rest = steps.find("again", after=2, limit=3)
    assert ([one.number for one in rest.items], rest.next) == ([3, 4, 5], None)


def test_find_takes_letters_of_other_scripts() -> None:
    steps = steps_of(said("déjà vu, 見つけた"))
    assert [len(steps.find(text).items) for text in ("déjà", "DéJà", "DÉJÀ", "見つ", "deja")] == [1, 1, 0, 1, 0]


def test_an_excerpt_is_what_stands_around() -> None:
    (found,) = steps_of(said("x" * 1000 + "word" + "y" * 1000)).find("WORD").items
    assert found.excerpt == "x" * 60 + "word" + "y" * 60


def test_a_whole_document_is_read_once(objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt, kept = new_id(), KeptSteps()
    whole = stored(objects, attempt, [said("a")])
    first = kept.of(objects, TENANT, attempt, whole, running=False)
    monkeypatch.setattr(ObjectStore, "read", None)
    assert kept.of(objects, TENANT, attempt, whole, running=False) is first


def test_segments_are_read_on_as_they_come(objects: ObjectStore) -> None:
    attempt, kept = new_id(), KeptSteps()

    def put(number: int, *given: Step) -> None:
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in given)
        objects.put(segment_key(TENANT, attempt, "trajectory", number), lines)

    assert len(kept.of(objects, TENANT, attempt, None, running=True)) == 0
    put(1, said("a"), said("b"))
    put(2, said("c"))
    steps = kept.of(objects, TENANT, attempt, None, running=True)
    assert (len(steps), steps.index().running) == (3, True)
    put(3, said("d"))
    assert len(kept.of(objects, TENANT, attempt, None, running=False)) == 4
    assert steps.index().running is False


def test_what_is_kept_has_a_bound(objects: ObjectStore) -> None:
    kept = KeptSteps(most_bytes=30_000)
    given = []
    for _ in range(4):
        attempt = new_id()
        whole = stored(objects, attempt, [said("x")] * 150)
        given.append((attempt, whole, kept.of(objects, TENANT, attempt, whole, running=False)))
    held = [kept.of(objects, TENANT, attempt, whole, running=False) is steps for attempt, whole, steps in given[::-1]]
    assert held == [True, True, False, False]


def test_trajectories_of_two_tenants_are_two(objects: ObjectStore) -> None:
    attempt, kept = new_id(), KeptSteps()
    whole = stored(objects, attempt, [said("a")])
    assert kept.of(objects, TENANT, attempt, whole, running=False) is not kept.of(
        objects, new_id(), attempt, whole, running=False
    )


@pytest.mark.parametrize("document", [b"", b"[]", b'{"steps": 1}', b'{"steps": ["x"]}', b"\xff", b"[" * 100_000])
def test_what_is_no_trajectory_is_told_as_such(objects: ObjectStore, document: bytes) -> None:
    attempt = new_id()
    whole = objects.put(f"{TENANT}/attempts/{attempt}/trajectory.json", document)
    with pytest.raises(TrajectoryInvalid):
        KeptSteps().of(objects, TENANT, attempt, whole, running=False)


def test_odd_texts_are_read_all_the_same() -> None:
    steps = steps_of(said("half \ud800 of a pair"), said(float("nan")))  # type: ignore[arg-type]
    assert steps.page(first=1, limit=2).items[0].step["message"] == "half ? of a pair"
    assert len(steps.find("half").items) == 1


def large(objects: ObjectStore, *given: Step) -> StoredObject:
    """A document that is large enough for a map of its own."""
    return stored(objects, new_id(), [*given, said("x" * LARGE_BYTES)])


def maps(objects: ObjectStore) -> list[str]:
    return list(objects.list(f"{TENANT}/{FOLDER}/"))


def reads(objects: ObjectStore, whole: StoredObject) -> Steps:
    """What a process makes of it that has not seen it before."""
    return KeptSteps().of(objects, TENANT, new_id(), whole, running=False)


def test_the_map_of_a_large_document_is_kept(objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = large(objects, said("one", timestamp="2026-07-01T02:00:00+00:00"), called({"command": "x"}, "[exit 1]"))
    first = reads(objects, whole)
    assert len(maps(objects)) == 1
    monkeypatch.setattr(ObjectStore, "read", None)
    again = reads(objects, whole)
    assert again.index() == first.index()
    assert again.page(first=1, limit=2) == first.page(first=1, limit=2)
    assert again.index().failed == [2]


def test_a_small_document_has_no_map(objects: ObjectStore) -> None:
    assert reads(objects, stored(objects, new_id(), [said("a")])).index().steps == 1
    assert maps(objects) == []


async def test_a_worker_keeps_the_map_of_what_it_leaves(objects: ObjectStore) -> None:
    document = json.dumps({"steps": [said("x" * LARGE_BYTES)]}).encode()
    whole = objects.put(f"{TENANT}/trajectories/one.json", document)
    await keep_map(objects, TENANT, whole, document)
    assert len(maps(objects)) == 1


@pytest.mark.parametrize("kept", [b"", b"{}", b"not json", b'{"version": 0}'])
def test_a_map_that_is_none_is_made_anew(objects: ObjectStore, kept: bytes) -> None:
    whole = large(objects, said("a"))
    known = reads(objects, whole).index()
    (key,) = maps(objects)
    objects.put(key, kept)
    assert reads(objects, whole).index() == known
    assert objects.get(key) != kept


def test_a_step_that_is_not_what_was_stored_is_told(objects: ObjectStore) -> None:
    whole = large(objects, said("a"), said("b"))
    reads(objects, whole)
    objects.put(whole.key, objects.get(whole.key).replace(b'"b"', b'"c"'))
    steps = reads(objects, whole)
    assert steps.page(first=1, limit=1).items[0].step["message"] == "a"
    with pytest.raises(ObjectDamaged):
        steps.page(first=2, limit=1)
    with pytest.raises(ObjectDamaged):
        steps.find("b")


def test_a_text_is_found_however_its_document_writes_it(objects: ObjectStore) -> None:
    whole = stored(objects, new_id(), [said("x"), said("d\u00e9j\u00e0 vu"), said("a/b"), said("\x1b[1mneedle")])
    data = objects.get(whole.key)
    assert b"\\u00e9" in data
    slashed = data.replace(b"a/b", b"a\\/b").replace(b'{"source"', b'\n {"source"')
    steps = reads(objects, objects.put(whole.key, slashed))
    found = [[one.number for one in steps.find(text).items] for text in ("D\u00e9j\u00e0", "A/B", "needle", "source")]
    assert found == [[2], [3], [4], []]
    assert [one.number for one in steps.find("e", after=2).items] == [4]
    assert [one.step["message"] for one in steps.page(first=2, limit=2).items] == ["d\u00e9j\u00e0 vu", "a/b"]


@pytest.mark.slow
def test_fifty_thousand_steps_are_read_at_once(objects: ObjectStore) -> None:
    attempt, kept = new_id(), KeptSteps()
    given = [called({"command": f"run {n}"}, "line of output\n" * 40 + "[exit 0]") for n in range(49_999)]
    whole = stored(objects, attempt, [*given, said("the last word: sesame")])
    began = time.process_time()
    steps = kept.of(objects, TENANT, attempt, whole, running=False)
    opened = time.process_time()
    assert steps.index().steps == 50_000
    indexed = time.process_time()
    assert [one.number for one in steps.find("sesame").items] == [50_000]
    found = time.process_time()
    assert [one.number for one in steps.page(first=41_337, limit=1).items] == [41_337]
    print(f"read {opened - began:.2f} s, index {indexed - opened:.3f} s, find {found - indexed:.3f} s")
    assert indexed - began < 5, "a loaded machine; alone it is under a second"
    assert found - indexed < 2
