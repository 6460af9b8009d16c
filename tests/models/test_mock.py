"""The mock provider: its script, what it answers, and that it is the same each time."""

from __future__ import annotations

import base64
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.models.conversation import (
    ChatRequest,
    Finish,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Reply,
    Role,
    Text,
    TokenUsage,
    Tool,
    ToolCall,
    ToolResult,
)
from proctor.models.errors import RequestInvalid
from proctor.models.mock.answers import SLOW_SEC, MockError, answer, plan
from proctor.models.mock.errors import MockScriptInvalid
from proctor.models.mock.script import Script, parse_script, read_script
from proctor.models.mock.shells import shell_arguments, shell_tool
from proctor.models.mock.vectors import DIMENSIONS, embedded, vector
from proctor.models.wires.interfaces import Fault, WireName

CHAT = WireName.OPENAI_CHAT
SHELL = Tool(name="shell", description="", parameters={"type": "object", "properties": {"command": {"type": "string"}}})


def said(*texts: str) -> list[Message]:
    """A conversation in turns, the user's first."""
    roles = (Role.USER, Role.ASSISTANT)
    return [Message(role=roles[index % 2], parts=[Text(text=text)]) for index, text in enumerate(texts)]


def script(text: str) -> Script:
    return parse_script(text, "script.toml")


def reply_to(model: str, *texts: str, by: str = "", tools: tuple[Tool, ...] = ()) -> Reply:
    found = answer(CHAT, ChatRequest(model=model, messages=said(*texts), tools=tools), script(by))
    assert isinstance(found, Reply)
    return found


def test_models_that_need_no_script() -> None:
    assert reply_to("echo", "hi").text == "hi"
    assert reply_to("mock/echo", "a", "b", "c").text == "c"
    assert reply_to("noop", "hi").text == "Done."
    assert (reply_to("refuse", "hi").finish, reply_to("noop", "hi").finish) == (Finish.REFUSED, Finish.STOP)
    slow = plan(CHAT, ChatRequest(model="slow", messages=said("hi")))
    assert slow.delay_sec == SLOW_SEC
    limited = answer(CHAT, ChatRequest(model="rate-limited", messages=said("hi")))
    assert isinstance(limited, MockError)
    assert (limited.status, limited.fault, limited.retry_after) == (429, Fault.RATE_LIMIT, 1.0)
    down = answer(CHAT, ChatRequest(model="unavailable", messages=said("hi")))
    assert isinstance(down, MockError)
    assert (down.status, down.fault) == (503, Fault.UNAVAILABLE)
    nobody = answer(CHAT, ChatRequest(model="gpt-5", messages=said("hi")))
    assert isinstance(nobody, MockError)
    assert (nobody.status, nobody.fault) == (404, Fault.MODEL_UNKNOWN)


TURNS = """
[[rules]]
model = "coder-*"
when = "(?i)fix"
replies = [{ text = "first" }, { text = "second" }]
[[rules]]
when = "agent"
replies = [{ text = "by the system" }]
[[rules]]
model = "mock/coder-1"
replies = [{ text = "other" }]
"""


def test_the_first_rule_that_fits_answers_turn_by_turn() -> None:
    assert reply_to("coder-1", "FIX it", by=TURNS).text == "first"
    assert reply_to("coder-1", "fix it", "x", "y", by=TURNS).text == "second"
    assert reply_to("coder-1", "fix it", "x", "y", "z", "and?", by=TURNS).text == "Done."
    assert reply_to("coder-1", "hello", by=TURNS).text == "other"
    assert reply_to("mock/coder-1", "hello", "fix", "fix", by=TURNS).text == "Done."
    assert reply_to("echo", "hello", by=TURNS).text == "hello"
    system = Message(role=Role.SYSTEM, parts=[Text(text="You are an agent.")])
    found = answer(CHAT, ChatRequest(model="x", messages=[system, *said("hi")]), script(TURNS))
    assert isinstance(found, Reply)
    assert found.text == "by the system"


def test_answers_are_the_same_each_time_and_count_four_bytes_a_token() -> None:
    by = '[[rules]]\nreplies = [{ text = "12345", reasoning = "123456789", calls = [{ shell = "ls" }] }]'
    first, again = (reply_to("m", "12345678", by=by, tools=(SHELL,)) for _ in range(2))
    assert first == again
    assert first.id.startswith("chatcmpl-")
    assert first.usage == TokenUsage(
        input_tokens=-(-(8 + len('["shell","",{"type":"object","properties":{"command":{"type":"string"}}}]')) // 4),
        cache_read_tokens=0,
        cache_write_tokens=0,
        output_tokens=-(-(5 + len('shell{"command": "ls"}')) // 4),
        reasoning_tokens=3,
    )
    assert reply_to("m", "other", by=by, tools=(SHELL,)).id != first.id


def test_every_kind_of_part_counts() -> None:
    parts: list[Part] = [
        Image(data="AAAA", media_type="image/png"),
        Opaque(wire="x", value={}),
        ToolResult(call_id="c", name="n", content="12345678"),
        Text(text="\ud83d"),
    ]
    found = answer(CHAT, ChatRequest(model="echo", messages=[Message(role=Role.USER, parts=parts)]))
    assert isinstance(found, Reply)
    assert found.usage.input_tokens == 256 + 3


def test_a_reply_says_what_the_script_says() -> None:
    by = """
    [[rules]]
    [[rules.replies]]
    text = "a"
    reasoning = "b"
    calls = [{ name = "look", arguments = { path = "x", deep = [1, { y = 2.5 }] } }]
    finish = "length"
    usage = { input = 1, cache_read = 2, cache_write = 3, output = 4, reasoning = 5 }
    model = "another-model"
    delay_sec = 1
    drop_after = 10
    """
    planned = plan(CHAT, ChatRequest(model="m", messages=said("hi")), script(by))
    assert isinstance(planned.outcome, Reply)
    assert planned.outcome.parts[:2] == [Reasoning(text="b"), Text(text="a")]
    (call,) = planned.outcome.tool_calls
    assert (call.name, call.arguments) == ("look", {"path": "x", "deep": [1, {"y": 2.5}]})
    assert (planned.outcome.finish, planned.outcome.model) == (Finish.LENGTH, "another-model")
    assert planned.outcome.usage.total == 15
    assert (planned.delay_sec, planned.drop_after) == (1.0, 10)


@pytest.mark.parametrize(
    ("status", "fault"),
    [(400, Fault.INVALID), (401, Fault.AUTH), (402, Fault.QUOTA), (413, Fault.CONTEXT), (529, Fault.UNAVAILABLE)],
)
def test_a_reply_with_a_status_is_an_error(status: int, fault: Fault) -> None:
    by = f'[[rules]]\nreplies = [{{ status = {status}, code = "x", text = "no", delay_sec = 2.5 }}]'
    planned = plan(CHAT, ChatRequest(model="m", messages=said("hi")), script(by))
    assert planned.outcome == MockError(status=status, fault=fault, message="no", code="x")
    assert planned.delay_sec == 2.5


def tool(name: str, *, required: tuple[str, ...] = (), **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name, description="", parameters=schema)


TEXT = {"type": "string"}
WORDS = {"type": "array", "items": TEXT}


@pytest.mark.parametrize(
    ("shell", "arguments"),
    [
        (tool("Bash", command=TEXT, description=TEXT, required=("command",)), {"command": "ls"}),
        (tool("run_shell_command", command=TEXT), {"command": "ls"}),
        (tool("exec_command", cmd=TEXT, workdir=TEXT), {"cmd": "ls"}),
        (tool("shell", command=WORDS), {"command": ["bash", "-lc", "ls"]}),
        (tool("local_shell", command={"type": ["array", "null"]}), {"command": ["bash", "-lc", "ls"]}),
        (tool("odd", x=TEXT), {"command": "ls"}),
        (
            tool(
                "execute_bash",
                command=TEXT,
                risk={"type": "string", "enum": ["LOW"]},
                wait={"type": "boolean"},
                why=TEXT,
                seconds={"type": "number"},
                required=("command", "risk", "wait", "why", "seconds", "unknown"),
            ),
            {"command": "ls", "risk": "LOW", "wait": False, "why": "", "seconds": 0, "unknown": ""},
        ),
    ],
)
def test_a_command_goes_to_whichever_tool_is_a_shell(shell: Tool, arguments: dict[str, Any]) -> None:
    assert shell_arguments(shell, "ls") == arguments
    if shell.name != "odd":
        assert shell_tool([tool("read_file"), shell]) == shell


def test_a_request_without_a_shell_is_told() -> None:
    by = script('[[rules]]\nreplies = [{ calls = [{ shell = "ls" }] }]')
    found = answer(CHAT, ChatRequest(model="m", messages=said("hi"), tools=[tool("read_file")]), by)
    assert isinstance(found, MockError)
    assert (found.status, "no tool" in found.message) == (400, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules = 5", "rules: "),
        ("[[rules]]\nwhat = 1", "rules.0.what: "),
        ('[[rules]]\nwhen = "("', "rules.0.when: it is no regular expression"),
        ("[[rules]]\nreplies = [{ text = 5 }]", "rules.0.replies.0.text: "),
        ("[[rules]]\nreplies = [{ status = 200 }]", "rules.0.replies.0.status: "),
        ('[[rules]]\nreplies = [{ code = "x" }]', "rules.0.replies.0: code and retry_after belong"),
        ('[[rules]]\nreplies = [{ status = 500, model = "x" }]', "rules.0.replies.0: a reply with a status"),
        ("[[rules]]\nreplies = [{ calls = [{}] }]", "rules.0.replies.0.calls.0: give name or shell"),
        (
            '[[rules]]\nreplies = [{ calls = [{ shell = "x", arguments = { a = 1 } }] }]',
            "rules.0.replies.0.calls.0: arguments belong",
        ),
        ('[[rules]]\nreplies = [{ finish = "bored" }]', "rules.0.replies.0.finish: "),
        ("[[rules]]\nreplies = [{ usage = { input = -1 } }]", "rules.0.replies.0.usage.input: "),
        ("[[rules]]\nreplies = [{ delay_sec = inf }]", "rules.0.replies.0.delay_sec: "),
        ("not toml", "not TOML"),
    ],
)
def test_a_script_that_is_wrong_is_told_by_its_field(text: str, words: str) -> None:
    with pytest.raises(MockScriptInvalid) as caught:
        script(text)
    assert words in caught.value.message
    assert caught.value.where == "script.toml"


def test_scripts_that_can_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff")
    for path in (tmp_path / "none.toml", tmp_path / "binary"):
        with pytest.raises(MockScriptInvalid):
            read_script(path)
    (tmp_path / "good.toml").write_text(TURNS)
    assert len(read_script(tmp_path / "good.toml").rules) == 3


def test_vectors_are_of_length_one_and_equal_for_equal_texts() -> None:
    for text in ("", "a", "ü", "\ud83d"):
        assert math.isclose(math.hypot(*vector(text)), 1.0, rel_tol=1e-6)
        assert vector(text) == vector(text)
    assert len(vector("a")) == DIMENSIONS
    assert vector("a") != vector("b")


def test_embeddings() -> None:
    reply: Any = embedded({"model": "e", "input": ["abcde", "x"], "dimensions": 4})
    assert [one["embedding"] for one in reply["data"]] == [vector("abcde", 4), vector("x", 4)]
    assert reply["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
    packed: Any = embedded({"model": "e", "input": [1, 2], "dimensions": 4, "encoding_format": "base64"})
    assert list(struct.unpack("<4f", base64.b64decode(packed["data"][0]["embedding"]))) == vector("[1,2]", 4)
    assert len(embedded({"model": "e", "input": [[1], [2]]})["data"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [{"model": "e"}, {"model": "e", "input": []}, {"model": "e", "input": "a", "dimensions": 10**6}, {"input": "a"}],
)
def test_requests_for_embeddings_that_are_wrong(body: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalid):
        embedded(body)


def test_wires_and_answers_need_no_aiohttp() -> None:
    code = (
        "import sys; sys.modules['aiohttp'] = None; "
        "import proctor.models.wires.catalogue, proctor.models.mock.answers, proctor.models.mock.vectors"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_call_that_is_scripted_has_an_id_of_its_own() -> None:
    by = '[[rules]]\nreplies = [{ calls = [{ name = "a" }, { name = "a" }] }, { calls = [{ name = "a" }] }]'
    calls = [*reply_to("m", "x", by=by).tool_calls, *reply_to("m", "x", "y", "z", by=by).tool_calls]
    assert all(isinstance(call, ToolCall) for call in calls)
    assert len({call.id for call in calls}) == 3


def test_a_rule_hears_all_that_the_user_says_before_the_first_answer() -> None:
    script = parse_script('[[rules]]\nwhen = "the task"\nreplies = [{ text = "found" }]\n', "script")
    said = [Message(role=Role.USER, parts=[Text(text=text)]) for text in ("where I am", "the task")]
    late = [said[0], Message(role=Role.ASSISTANT, parts=[Text(text="go on")]), said[1]]
    found, missed = (answer(WireName.OPENAI_CHAT, ChatRequest(model="m", messages=one), script) for one in (said, late))
    assert isinstance(found, Reply)
    assert found.text == "found"
    assert isinstance(missed, MockError)
