"""Secrets: only listed names resolve, and no value is left in anything that is stored."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.engine.secrets import MASK, Scrubber, holds_secret, scrub_detail, scrub_document

SECRET = 'sk-"quoted"-0123456789'


@given(st.lists(st.integers(1, 12), max_size=20), st.booleans())
def test_a_secret_is_removed_across_the_borders_of_pieces(cuts: list[int], twice: bool) -> None:
    text = b"before " + SECRET.encode() * (2 if twice else 1) + b" after"
    scrubber = Scrubber([SECRET])
    out, rest = b"", text
    for cut in cuts:
        out += scrubber.feed(rest[:cut])
        rest = rest[cut:]
    out += scrubber.feed(rest) + scrubber.finish()
    assert out == b"before " + MASK * (2 if twice else 1) + b" after"


@pytest.mark.parametrize("before", [0, 1, 400, 1000, 3000, 65_000])
@pytest.mark.parametrize("cut", [1, 6, 30])
def test_a_key_right_after_a_long_word_is_removed_across_a_border(before: int, cut: int) -> None:
    key = b"sk-ant-api03-" + b"Kq7" * 20
    scrubber = Scrubber([])
    out = scrubber.feed(b"x" * before + key[:cut]) + scrubber.feed(key[cut:] + b" after") + scrubber.finish()
    assert out == b"x" * before + MASK + b" after"


def test_without_secrets_only_what_may_become_a_key_is_held_back() -> None:
    scrubber = Scrubber([])
    assert scrubber.feed(b"words and work") == b"words and work"
    assert scrubber.feed(b" sk") == b" "
    assert scrubber.feed(b"ill ") == b"skill "
    assert scrubber.feed(b"sk-") == b""
    assert scrubber.finish() == b"sk-"


def test_only_the_beginning_of_a_secret_is_held_back() -> None:
    scrubber = Scrubber(["abcdefgh", "abcdefghijk"])
    assert scrubber.feed(b"text abc") == b"text "
    assert scrubber.feed(b"X abcdefgh") == b"abcX "
    assert scrubber.feed(b"ijk abcdefgh") == MASK + b" "
    assert scrubber.feed(b"!") == MASK + b"!"
    assert scrubber.feed(b"abcdefgh") == b""
    assert scrubber.finish() == MASK


def test_the_mask_is_not_looked_into() -> None:
    assert scrub_document(b"removed secret", ["removed", "secret"]) == MASK + b" " + MASK


def test_escaped_forms_are_removed_from_documents() -> None:
    assert SECRET[5:] not in scrub_document(b'{"m": "sk-\\"quoted\\"-0123456789"}', [SECRET]).decode()


def test_evidence_holds_neither_a_secret_nor_half_of_one() -> None:
    detail = {"tail": SECRET[9:] + " x " + SECRET + " y " + SECRET[:9], "n": 3, "more": [{"m": SECRET}]}
    assert scrub_detail(detail, [SECRET]) == {
        "tail": "[secret removed] x [secret removed] y [secret removed]",
        "n": 3,
        "more": [{"m": "[secret removed]"}],
    }


def test_short_values_are_left_alone() -> None:
    assert scrub_document(b"the end", ["the"]) == b"the end"


def test_a_file_with_a_secret_over_a_piece_border_is_found(tmp_path: Path) -> None:
    path = tmp_path / "state.tar"
    path.write_bytes(b"x" * (1024 * 1024 - 5) + SECRET.encode() + b"y" * 100)
    assert holds_secret(path, [SECRET])
    assert not holds_secret(path, ["something-else"])
    assert not holds_secret(path, [])


_RANDOM = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6kL8nP0rS2uV4xY6zA8cD0fG1iJ3lM5"
KEYS: tuple[str, ...] = (
    f"sk-ant-api03-{_RANDOM}",
    f"sk-proj-{_RANDOM}",
    f"sk-svcacct-{_RANDOM}",
    f"sk-admin-{_RANDOM}",
    "sk-or-v1-" + "0123456789abcdef" * 4,
    f"sk-{_RANDOM[:48]}",
    f"AIza{_RANDOM[:35]}",
    f"gsk_{_RANDOM[:52]}",
    f"xai-{_RANDOM}{_RANDOM[:16]}",
    f"hf_{_RANDOM[:34]}",
    "AKIA0123456789ABCDEF",
    "ASIA0123456789ABCDEF",
    f"ghp_{_RANDOM[:36]}",
    f"gho_{_RANDOM[:36]}",
    f"ghu_{_RANDOM[:36]}",
    f"ghs_{_RANDOM[:36]}",
    f"ghr_{_RANDOM[:36]}",
    f"github_pat_{_RANDOM}",
    f"glpat-{_RANDOM[:20]}",
    "xoxb-123456789012-1234567890123-abcdefghijklmnop",
    "xoxp-123456789012-1234567890123-abcdefghijklmnop",
    f"npm_{_RANDOM[:36]}",
    f"pypi-{_RANDOM}{_RANDOM}",
    f"proctor_model_{_RANDOM[:43]}",
    "xapp-1-A0123456789-1234567890123-" + "0123456789abcdef" * 4,
    f"sk_live_{_RANDOM[:24]}",
    f"rk_live_{_RANDOM[:24]}",
    "dop_v1_" + "0123456789abcdef" * 4,
    f"nvapi-{_RANDOM[:64]}",
    "lsv2_pt_" + "0123456789abcdef" * 2 + "_0123456789",
    "lsv2_sk_" + "0123456789abcdef" * 2 + "_0123456789",
    f"r8_{_RANDOM[:37]}",
    f"pplx-{_RANDOM[:48]}",
    "csk-" + "0123456789abcdef" * 3,
    f"fw_{_RANDOM[:24]}",
    f"tvly-{_RANDOM[:32]}",
    "dapi" + "0123456789abcdef" * 2,
)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_each_shape_is_removed_wherever_it_is_cut(key: str) -> None:
    text = f"export KEY={key}; task-{_RANDOM}\n".encode()
    for cut in range(len(text)):
        scrubber = Scrubber([])
        out = scrubber.feed(text[:cut]) + scrubber.feed(text[cut:]) + scrubber.finish()
        assert out == f"export KEY=[secret removed]; task-{_RANDOM}\n".encode()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("before", [b"\\n", b"\\t", b"\x1b[32m", b"[0m", b"=", b'"', b" "])
def test_a_key_is_removed_after_what_json_and_terminals_write(key: str, before: bytes) -> None:
    text = b"said" + before + key.encode() + b'"'
    for cut in range(len(text)):
        scrubber = Scrubber([])
        out = scrubber.feed(text[:cut]) + scrubber.feed(text[cut:]) + scrubber.finish()
        assert out == b"said" + before + MASK + b'"', cut
    assert key.encode() not in scrub_document(text, [])


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=20))
def test_what_holds_no_key_is_let_out_as_it_was_however_it_is_cut(text: bytes, cuts: list[int]) -> None:
    scrubber, out, rest = Scrubber([]), b"", text
    for cut in cuts:
        out += scrubber.feed(rest[:cut])
        rest = rest[cut:]
    out += scrubber.feed(rest) + scrubber.finish()
    assert out == scrub_document(text, [])


@pytest.mark.parametrize("key", KEYS)
def test_a_state_with_a_key_of_each_shape_is_found(tmp_path: Path, key: str) -> None:
    path = tmp_path / "state.tar"
    path.write_bytes(b"." * (1024 * 1024 - 9) + key.encode() + b"\0" * 100)
    assert holds_secret(path, [])


@pytest.mark.parametrize(
    "text",
    [
        "task-0123456789012345678901234567890123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-learn and sk-image",
        "npm_config_registry_is_a_variable_of_the_environment",
        "-----BEGIN PRIVATE KEY-----",
        "dGFzay1zay0=",
    ],
)
def test_what_only_begins_like_a_key_is_left(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.tar"
    path.write_text(text)
    assert not holds_secret(path, [])
    assert scrub_document(text.encode(), []) == text.encode()


@pytest.mark.parametrize("before", range(4))
def test_a_value_in_base64_is_found_wherever_it_stands(before: int) -> None:
    value = "an-unshapely-secret-0123"
    packed = base64.b64encode(b"x" * before + value.encode() + b"tail")
    assert b"[secret removed]" in scrub_document(b"text " + packed, [value])
    for text in (value.encode().hex(), "an-unshapely%2Dsecret"):
        assert (b"removed" in scrub_document(text.encode(), [value])) == (text == value.encode().hex())
