"""OpenAI's, Anthropic's and Google's own clients take what our wires write for that of their providers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.foreign.conftest import Ask
from tests.foreign.environments import MODEL_CLIENTS
from tests.foreign.mock_server import KEY, mock_server

TEXT = "I run the tests, which takes a while – wait."
SCRIPT = f"""
[[rules]]
model = "coder"
when = "fix"
[[rules.replies]]
reasoning = "They want it fixed."
text = "{TEXT}"
calls = [{{ shell = "pytest -q" }}]
usage = {{ input = 100, cache_read = 40, output = 20, reasoning = 7 }}
[[rules.replies]]
text = "Two of them fail."
[[rules]]
model = "no-credit"
[[rules.replies]]
status = 429
code = "insufficient_quota"
[[rules]]
model = "too-long"
[[rules.replies]]
status = 413
[[rules]]
model = "dropped"
[[rules.replies]]
text = "A long text that does not arrive as a whole, since the connection is dropped before."
drop_after = 700
"""
COMMAND = {"command": "pytest -q"}
ALL_SAME = [True] * 5


@pytest.fixture(scope="module")
def said(ask: Ask, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("mock")
    with mock_server(folder, SCRIPT) as address:
        return ask(MODEL_CLIENTS, "model_clients", {"address": address, "key": KEY})


def test_chat_completions(said: Any) -> None:
    chat = said["chat"]
    assert chat.pop("models") == sorted(
        ["coder", "dropped", "echo", "no-credit", "noop", "rate-limited", "refuse", "slow", "too-long", "unavailable"]
    )
    assert chat == {
        "text": TEXT,
        "call": ["shell", COMMAND],
        "finish": "tool_calls",
        "usage": {"prompt_tokens": 140, "completion_tokens": 27, "total_tokens": 167},
        "cached": 40,
        "reasoning": 7,
        "streamed_the_same": ALL_SAME,
        "after": "Two of them fail.",
        "refusal": ["I can't help with that.", "content_filter"],
        "asynchronous": "fix it",
    }


def test_responses(said: Any) -> None:
    assert said["responses"] == {
        "text": TEXT,
        "kinds": ["reasoning", "message", "function_call"],
        "call": ["shell", COMMAND],
        "status": "completed",
        "usage": {"input_tokens": 140, "output_tokens": 27, "total_tokens": 167},
        "cached": 40,
        "reasoning": 7,
        "streamed_the_same": ALL_SAME[:2],
        "deltas": True,
        "after": "Two of them fail.",
    }


def test_embeddings(said: Any) -> None:
    assert said["embeddings"] == {"lengths": [1.0, 1.0, 1.0], "same": [True, False, True], "tokens": 3}


def test_messages(said: Any) -> None:
    assert said["messages"] == {
        "kinds": ["thinking", "text", "tool_use"],
        "text": TEXT,
        "call": ["bash", COMMAND],
        "stop": "tool_use",
        "usage": {
            "input_tokens": 100,
            "output_tokens": 27,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 0,
        },
        "streamed_the_same": ALL_SAME[:3],
        "after": "Two of them fail.",
        "counted": 2,
        "refusal": "refusal",
    }


def test_generate_content(said: Any) -> None:
    assert said["gemini"] == {
        "text": TEXT,
        "thought": "They want it fixed.",
        "call": ["run_shell_command", COMMAND],
        "finish": "STOP",
        "usage": [140, 40, 20, 7, 167],
        "streamed": [TEXT, [COMMAND], 167],
        "after": "Two of them fail.",
        "counted": 2,
    }


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        ("rate-limited", ["RateLimitError", "RateLimitError", "RateLimitError", "ClientError"]),
        ("unavailable", ["InternalServerError", "InternalServerError", "ServiceUnavailableError", "ServerError"]),
        ("nobody", ["NotFoundError", "NotFoundError", "NotFoundError", "ClientError"]),
        ("no-credit", ["RateLimitError", "RateLimitError", "RateLimitError", "ClientError"]),
        ("too-long", ["APIStatusError", "APIStatusError", "ContentTooLargeError", "ClientError"]),
        ("stranger", ["AuthenticationError", "AuthenticationError"]),
        ("dropped", ["APIConnectionError"]),
    ],
)
def test_errors_are_of_the_classes_that_clients_have_for_them(said: Any, model: str, classes: list[str]) -> None:
    assert [one["class"] for one in said["errors"][model]] == classes


def test_errors_carry_codes_and_when_to_try_again(said: Any) -> None:
    codes = {model: failures[0]["code"] for model, failures in said["errors"].items()}
    assert codes == {
        "rate-limited": "rate_limit_exceeded",
        "unavailable": "server_error",
        "nobody": "model_not_found",
        "no-credit": "insufficient_quota",
        "too-long": "context_length_exceeded",
        "stranger": "invalid_api_key",
        "dropped": None,
    }
    assert [one.get("retry_after") for one in said["errors"]["rate-limited"][:3]] == ["1", "1", "1"]
