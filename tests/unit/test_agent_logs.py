"""Agents' own logs, read as steps: what they say, and whatever a hostile one says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.agents.adapters.catalogue import RECIPES
from proctor.agents.adapters.claude_code import read_line as claude
from proctor.agents.adapters.codex import read_line as codex
from proctor.agents.adapters.events import Answered, Called, Event, Said, StepGatherer, read_json
from proctor.agents.adapters.gemini_cli import read_line as gemini
from proctor.agents.adapters.mini_swe_agent import read_file as mini
from proctor.agents.adapters.opencode import read_line as opencode
from proctor.agents.trajectory import Agent, Step, Trajectory, dump, parse


def gathered(events: Iterable[Event]) -> list[Step]:
    """The steps that these events are."""
    steps: list[Step] = []
    gatherer = StepGatherer(lambda maker: steps.append(maker(len(steps) + 1)), model="mock/m")
    for event in events:
        gatherer.add(event)
    gatherer.flush()
    return steps


def whole(steps: list[Step]) -> None:
    """They are a valid document, and come back from it."""
    document = Trajectory(agent=Agent(name="a", version="1"), steps=steps)
    assert parse(dump(document)) == document


def test_calls_that_are_answered_together_are_one_step():
    steps = gathered(
        [
            Said("Both."),
            Called("1", "bash", {"command": "a"}),
            Called("2", "bash", {"command": "b"}),
            Answered("2", "two"),
            Answered("1", "one"),
            Said("Done."),
        ]
    )
    assert [step.message for step in steps] == ["Both.", "Done."]
    assert [(one.source_call_id, one.content) for one in steps[0].observation.results] == [("2", "two"), ("1", "one")]
    whole(steps)


def test_an_answer_to_nothing_and_a_second_answer_are_passed_over():
    steps = gathered([Answered("0", "x"), Called("1", "bash", "ls"), Answered("1", "a"), Answered("1", "b"), Said("")])
    assert len(steps) == 1
    assert steps[0].tool_calls[0].arguments == {"input": "ls"}
    assert [one.content for one in steps[0].observation.results] == ["a"]
    whole(steps)


def test_pieces_of_a_message_are_one_message():
    lines = [{"type": "message", "role": "assistant", "content": piece, "delta": True} for piece in ("He", "llo")]
    assert gathered(event for line in lines for event in gemini(line))[0].message == "Hello"


def test_what_no_writer_takes_is_replaced():
    deep: object = "end"
    for _ in range(200):
        deep = [deep]
    arguments = {"nul": "a\x00b", "half": "\ud800", "huge": float("inf"), "deep": deep, "\ud800": 1}
    steps = gathered([Called("\ud800", "\x00", arguments), Answered("\ud800", "\x00" * 40_000)])
    whole(steps)
    assert len(steps[0].observation.results[0].content) == 16 * 1024
    assert steps[0].tool_calls[0].arguments["huge"] is None


def test_claude_code_s_thinking_and_its_tools_parts():
    lines = [
        {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "Hm."}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}},
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"text": "file"}]}]},
        },
    ]
    (step,) = gathered(event for line in lines for event in claude(line))
    assert (step.reasoning_content, step.observation.results[0].content) == ("Hm.", "file")


def test_codex_s_other_tools_are_calls_too():
    item = {"id": "i", "type": "file_change", "changes": [{"path": "a", "kind": "add"}], "status": "completed"}
    (step,) = gathered(codex({"type": "item.completed", "item": item}))
    assert step.tool_calls[0].function_name == "file_change"
    assert step.tool_calls[0].arguments == {"changes": [{"path": "a", "kind": "add"}]}


def test_opencode_s_failed_tool_says_why():
    part = {"type": "tool", "tool": "read", "callID": "c", "state": {"status": "error", "input": {}, "error": "gone"}}
    (step,) = gathered(opencode({"type": "tool_use", "part": part}))
    assert step.observation.results[0].content == "gone"


def test_mini_swe_agent_s_arguments_are_json_in_a_string():
    call = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c"},
    ]
    (step,) = gathered(mini(json.dumps({"messages": messages}).encode()))
    assert step.tool_calls[0].arguments == {"command": "ls"}


@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b'"a"', b"{", b'{"a": 1', b"{" * 100_000, b'{"a": ' + b"[" * 200_000]
)
def test_what_is_no_object_is_no_event(line: bytes):
    assert read_json(line) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("type", "message", "content", "item", "part", "state", "tokens", "role", "usage", "id", "text", "tool_calls")
WORDS = st.sampled_from(["assistant", "user", "tool_use", "tool_result", "text", "item.completed", "tool", "message"])
LINES = st.dictionaries(
    st.sampled_from(KEYS), WORDS | JSON | st.dictionaries(st.sampled_from(KEYS), WORDS | JSON, max_size=4), max_size=6
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(LINES)
def test_no_line_breaks_a_reader(line: Mapping[str, object]):
    for recipe in RECIPES.values():
        whole(gathered([Said("x"), *recipe.read_line(line)]))
        if recipe.read_file is not None:
            whole(gathered([Said("x"), *recipe.read_file(json.dumps({"messages": [line]}).encode())]))


@given(st.binary(max_size=200))
def test_no_bytes_break_a_reader_of_files(document: bytes):
    for recipe in RECIPES.values():
        if recipe.read_file is not None:
            assert list(recipe.read_file(document)) == []
