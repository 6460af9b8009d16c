"""Reward files are read strictly."""

from __future__ import annotations

import pytest

from proctor.engine.evidence import VerifierProblem
from proctor.engine.rewards import parse_rewards

GOOD = [
    (b'{"reward": 1}', None, {"reward": 1.0}),
    (b'{"a": 0.5, "b": -2}', b"1", {"a": 0.5, "b": -2.0}),
    (None, b"1\n", {"reward": 1.0}),
    (None, b" 0.25 ", {"reward": 0.25}),
    (None, b"1e-3", {"reward": 0.001}),
]
BAD = [
    (None, None, VerifierProblem.MISSING),
    (b"", None, VerifierProblem.EMPTY),
    (b"{}", None, VerifierProblem.EMPTY),
    (None, b"  \n", VerifierProblem.EMPTY),
    *[
        (document, b"1", VerifierProblem.UNPARSABLE)
        for document in (
            b"1",
            b"[1]",
            b'{"reward": NaN}',
            b'{"reward": Infinity}',
            b'{"reward": "1"}',
            b'{"reward": true}',
            b'{"reward": null}',
            b'{"reward": {"x": 1}}',
            b'{"reward": 1, "reward": 0}',
            b'{"reward": 1',
            b'{"reward": 1e999}',
            b'{"reward": ' + b"9" * 400 + b"}",
            b"[" * 50_000,
            b"\xff\xfe",
        )
    ],
    *[
        (None, text, VerifierProblem.UNPARSABLE)
        for text in (b"nan", b"inf", b"1_0", b"pass", b"1 1", b"0x1", b"1e999", b"\xd9\xa1", b"1\x000")
    ],
]


@pytest.mark.parametrize(("json_file", "text_file", "wanted"), GOOD)
def test_good_files(json_file: bytes | None, text_file: bytes | None, wanted: dict[str, float]) -> None:
    assert parse_rewards(json_file, text_file) == wanted


@pytest.mark.parametrize(("json_file", "text_file", "wanted"), BAD)
def test_bad_files(json_file: bytes | None, text_file: bytes | None, wanted: VerifierProblem) -> None:
    assert parse_rewards(json_file, text_file) is wanted
