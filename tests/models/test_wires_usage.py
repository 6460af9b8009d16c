"""Counts of tokens as providers state them, in disjoint buckets; what can't be trusted is not known."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.models.conversation import Finish, TokenUsage
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import WireName

UNKNOWN = TokenUsage()


def usage(
    fresh: int | None, read: int | None, written: int | None, said: int | None, thought: int | None
) -> TokenUsage:
    return TokenUsage(
        input_tokens=fresh,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=said,
        reasoning_tokens=thought,
    )


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, usage(10, 0, 0, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5}, usage(10, 0, 0, 5, 0)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 20, "accepted_prediction_tokens": 0},
            },
            usage(30, 60, 10, 30, 20),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": {"cache_creation_tokens": 7}},
            usage(93, 0, 7, 50, 0),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": None}, usage(9, 0, 0, 5, 0)),
        # counts reasoning beside what was made, as some who speak this wire do
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 35,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            usage(10, 0, 0, 5, 20),
        ),
        # the total is another number: nothing can be trusted
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 99}, UNKNOWN),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": "15"}, UNKNOWN),
        # more cached than there was, more thought than was made
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 11}},
            usage(None, None, None, 5, 0),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 6}},
            usage(10, 0, 0, None, None),
        ),
        # no counts
        ({"prompt_tokens": -1, "completion_tokens": 5}, usage(None, None, None, 5, 0)),
        ({"prompt_tokens": True, "completion_tokens": 5}, usage(None, None, None, 5, 0)),
        ({"prompt_tokens": 1.5, "completion_tokens": 5}, usage(None, None, None, 5, 0)),
        ({"prompt_tokens": 10, "completion_tokens": "5"}, usage(10, 0, 0, None, None)),
        ({"prompt_tokens": 10**13, "completion_tokens": 5}, usage(None, None, None, 5, 0)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -3}},
            usage(None, None, None, 5, 0),
        ),
        ({"prompt_tokens": 10}, usage(10, 0, 0, None, None)),
        ({}, UNKNOWN),
        (None, UNKNOWN),
        ("many", UNKNOWN),
    ],
)
def test_openai(told: Any, found: TokenUsage) -> None:
    assert WIRES[WireName.OPENAI_CHAT].read_whole({"usage": told}).usage == found
    if isinstance(told, dict):
        renamed = {
            name.replace("prompt", "input").replace("completion", "output"): value for name, value in told.items()
        }
        assert WIRES[WireName.OPENAI_RESPONSES].read_whole({"usage": renamed}).usage == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            {
                "input_tokens": 10,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 30,
                "output_tokens": 5,
                "cache_creation": {"ephemeral_5m_input_tokens": 20},
                "service_tier": "standard",
            },
            usage(10, 30, 20, 5, 0),
        ),
        ({"input_tokens": 10, "output_tokens": 5}, usage(10, 0, 0, 5, 0)),
        ({"input_tokens": 10, "cache_read_input_tokens": None, "output_tokens": 5}, usage(10, 0, 0, 5, 0)),
        ({"input_tokens": 10, "cache_read_input_tokens": "x", "output_tokens": 5}, usage(10, None, 0, 5, 0)),
        ({"input_tokens": 10}, usage(10, 0, 0, None, None)),
        ({"output_tokens": 5}, usage(None, None, None, 5, 0)),
        ({"input_tokens": -1, "output_tokens": True}, UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_anthropic(told: Any, found: TokenUsage) -> None:
    assert WIRES[WireName.ANTHROPIC].read_whole({"usage": told}).usage == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 60,
                "toolUsePromptTokenCount": 7,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 30,
                "totalTokenCount": 157,
            },
            usage(47, 60, 0, 20, 30),
        ),
        ({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, usage(10, 0, 0, 5, 0)),
        ({"promptTokenCount": 10, "totalTokenCount": 10}, usage(10, 0, 0, 0, 0)),
        ({"promptTokenCount": 10, "totalTokenCount": 45}, UNKNOWN),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 5, "cachedContentTokenCount": 11},
            usage(None, None, 0, 5, 0),
        ),
        ({"candidatesTokenCount": 5}, usage(None, None, None, 5, None)),
        ({}, UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_gemini(told: Any, found: TokenUsage) -> None:
    assert WIRES[WireName.GEMINI].read_whole({"usageMetadata": told}).usage == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"prompt_tokens": 8, "total_tokens": 8}, usage(8, 0, 0, 0, 0)),
        ({"prompt_tokens": 8}, usage(8, 0, 0, 0, 0)),
        ({"prompt_tokens": 8, "total_tokens": 9}, UNKNOWN),
        ({"prompt_tokens": "8"}, UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_embeddings(told: Any, found: TokenUsage) -> None:
    assert WIRES[WireName.OPENAI_EMBEDDINGS].read_whole({"usage": told, "data": []}).usage == found


def test_a_whole_reply_of_embeddings() -> None:
    reading = WIRES[WireName.OPENAI_EMBEDDINGS].read_whole({"model": "e", "data": [{"embedding": [0.1]}]})
    assert (reading.model, reading.finish) == ("e", Finish.STOP)
    assert WIRES[WireName.OPENAI_EMBEDDINGS].read_whole({}).finish is None
