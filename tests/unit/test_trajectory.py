"""Trajectories: what is valid, what is refused with a place and a reason, and that nothing is lost on the way."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proctor.agents.trajectory import (
    Agent,
    ContentPart,
    FinalMetrics,
    ImageSource,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    SubagentTrajectoryRef,
    ToolCall,
    Trajectory,
    TrajectoryInvalid,
    dump,
    parse,
)

AGENT = Agent(name="loop", version="1")


def command_step(number: int, call: str = "c1") -> Step:
    return Step(
        step_id=number,
        source="agent",
        message="",
        tool_calls=[ToolCall(tool_call_id=call, function_name="bash", arguments={"command": "ls", "cwd": None})],
        observation=Observation(results=[ObservationResult(source_call_id=call, content="a\nb")]),
    )


def small() -> Trajectory:
    steps = [Step(step_id=1, source="user", message="Do it."), command_step(2), command_step(3)]
    return Trajectory(agent=AGENT, steps=steps, final_metrics=FinalMetrics(total_steps=3))


def document(**changes: object) -> bytes:
    plain = json.loads(dump(small()))
    return json.dumps({**plain, **changes}).encode()


def step(**changes: object) -> list[dict[str, object]]:
    return [{"step_id": 1, "source": "agent", "message": "hi", **changes}]


def test_written_as_1_7_and_read_back_the_same() -> None:
    written = dump(small())
    assert json.loads(written)["schema_version"] == "ATIF-v1.7"
    assert parse(written) == small()


def test_absent_fields_are_not_written_but_null_arguments_are() -> None:
    plain = json.loads(dump(small()))
    assert "notes" not in plain
    assert plain["steps"][1]["tool_calls"][0]["arguments"] == {"command": "ls", "cwd": None}


@pytest.mark.parametrize("minor", range(9))
def test_every_version_is_read(minor: int) -> None:
    assert parse(document(schema_version=f"ATIF-v1.{minor}")).schema_version == f"ATIF-v1.{minor}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema_version": "ATIF-v1.9"}, "schema_version"),
        ({"surprise": 1}, "surprise"),
        ({"steps": []}, "steps"),
        ({"agent": {"name": "loop"}}, "agent.version"),
        ({"steps": step(step_id=2)}, "steps[0].step_id is 2, expected 1"),
        ({"steps": step(timestamp="yesterday")}, "steps[0].timestamp: 'yesterday' is no ISO 8601 time"),
        ({"steps": step(source="user", model_name="m")}, "model_name is not allowed on a step of source 'user'"),
        ({"steps": step(source="system", metrics={})}, "metrics is not allowed"),
        ({"steps": step(source="user", tool_calls=[])}, "tool_calls is not allowed"),
        ({"steps": step(llm_call_count=0, metrics={})}, "metrics is not allowed where llm_call_count is 0"),
        ({"steps": step(llm_call_count=0, reasoning_content="x")}, "reasoning_content is not allowed"),
        ({"steps": step(llm_call_count=-1)}, "steps[0].llm_call_count"),
        ({"steps": step(observation={"results": [{"source_call_id": "c9"}]})}, "'c9' names no tool call"),
        ({"final_metrics": {"total_steps": 9}}, "total_steps is 9 of 3 steps"),
        ({"steps": step(message=[{"type": "text"}])}, "text belongs to parts of type 'text'"),
        ({"steps": step(message=[{"type": "image", "text": "x"}])}, "of type 'image' has the source"),
        ({"subagent_trajectories": [json.loads(dump(small()))]}, "needs a trajectory_id of its own"),
    ],
)
def test_refused_with_its_place(changes: dict[str, object], said: str) -> None:
    with pytest.raises(TrajectoryInvalid) as refused:
        parse(document(**{"final_metrics": None, **changes}))
    assert said in str(refused.value)


@pytest.mark.parametrize("hostile", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b'{"steps": NaN}'])
def test_hostile_bytes_are_a_clear_error(hostile: bytes) -> None:
    with pytest.raises(TrajectoryInvalid):
        parse(hostile)


def test_a_step_count_that_the_notes_explain_is_fine() -> None:
    assert parse(document(final_metrics={"total_steps": 9}, notes="six steps were summarised")).notes


def test_an_error_repeated_for_every_step_is_named_five_times() -> None:
    steps = [{"step_id": number, "source": "robot", "message": ""} for number in range(1, 200)]
    with pytest.raises(TrajectoryInvalid, match="and 194 more"):
        parse(document(steps=steps, final_metrics=None))


def test_a_subagent_reference_must_lead_somewhere() -> None:
    with pytest.raises(ValidationError, match="session_id alone finds nothing"):
        SubagentTrajectoryRef(session_id="s")


def test_subagents_are_kept() -> None:
    child = small().model_copy(update={"trajectory_id": "child"})
    parent = small().model_copy(update={"subagent_trajectories": [child]})
    read = parse(dump(parent)).subagent_trajectories
    assert read is not None
    assert read[0].trajectory_id == "child"


def test_audio_is_stored_under_its_registered_name() -> None:
    part = ContentPart.model_validate({"type": "audio", "source": {"media_type": "Audio/MP3", "path": "a.mp3"}})
    assert part.source is not None
    assert part.source.media_type == "audio/mpeg"


def test_an_image_is_told_from_a_sound() -> None:
    source = ImageSource(media_type="image/png", path="a.png")
    with pytest.raises(ValidationError, match="of type 'audio' has the source of one of type 'image'"):
        ContentPart(type="audio", source=source)


def test_nothing_changes_after_birth() -> None:
    with pytest.raises(ValidationError):
        small().steps[0].message = "other"


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.text(), st.dictionaries(st.text(), st.none() | st.integers(0, 9) | st.text())), max_size=6),
    st.none() | st.integers(0, 10**9),
)
def test_what_is_written_is_what_is_read(turns: list[tuple[str, dict[str, object]]], tokens: int | None) -> None:
    steps = [Step(step_id=1, source="user", message="go")]
    for number, (message, arguments) in enumerate(turns, start=2):
        call = ToolCall(tool_call_id=f"c{number}", function_name="f", arguments=arguments)  # type: ignore[arg-type]
        metrics = Metrics(prompt_tokens=tokens)
        steps.append(Step(step_id=number, source="agent", message=message, tool_calls=[call], metrics=metrics))
    trajectory = Trajectory(agent=AGENT, steps=steps)
    assert parse(dump(trajectory)) == trajectory


def test_a_small_trajectory_costs_little() -> None:
    best = min(_seconds_of_hundred() for _ in range(5)) / 100
    assert best < 0.001, f"{best * 1000:.2f} ms each"  # 0.06 ms on a laptop; the budget is 500 in a second


def _seconds_of_hundred() -> float:
    start = time.process_time()
    for _ in range(100):
        dump(small())
    return time.process_time() - start
