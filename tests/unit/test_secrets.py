"""Secrets: only listed names resolve, and no value is left in anything that is stored."""

from __future__ import annotations

from pathlib import Path

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


def test_without_secrets_nothing_is_held_back() -> None:
    assert Scrubber([]).feed(b"x") == b"x"


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
