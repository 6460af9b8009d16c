"""Which files of a task folder count: the same answers as the matcher that Harbor's packager uses."""

from __future__ import annotations

import time

import pathspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.suites.ignores import DEFAULT_IGNORES, ignores

LINE = st.lists(
    st.sampled_from(["a", "b", "ab", "*", "?", "/", "**/", "/**", "!", "[ab]", "[!a]", "\\*", ".pyc", " ", "#"]),
    min_size=1,
    max_size=5,
).map("".join)
PATH = st.lists(st.sampled_from(["a", "b", "ab", "ba", "x.pyc", "*", "#a"]), min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("lines", "path", "ignored"),
    [
        (DEFAULT_IGNORES, "environment/app/__pycache__/x.py", True),
        (DEFAULT_IGNORES, "tests/x.pyc", True),
        (DEFAULT_IGNORES, "tests/test.sh~", True),
        (DEFAULT_IGNORES, "tests/__pycache__", False),
        (DEFAULT_IGNORES, "tests/test.sh", False),
        (("build/",), "environment/build/x", True),
        (("/build",), "environment/build/x", False),
        (("*.log", "!keep.log"), "tests/keep.log", False),
        (("*.log", "!keep.log"), "tests/other.log", True),
        (("environment/**/data",), "environment/a/b/data", True),
        (("environment/**/data",), "environment/data", True),
        (("data/**",), "data/x", True),
        ((r"\#x",), "tests/#x", True),
        ((r"name\ ",), "tests/name ", True),
        (("", "# comment", "   "), "tests/# comment", False),
        (("tests/*",), "tests/a/b", False),
    ],
)
def test_known_answers(lines: tuple[str, ...], path: str, ignored: bool) -> None:
    assert bool(ignores(lines).decide(path)) is ignored


def test_no_line_speaks_of_it() -> None:
    assert ignores(("*.log", "!keep.log")).decide("a.txt") is None
    assert ignores(("*.log", "!keep.log")).decide("keep.log") is False


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(LINE, max_size=3).map(tuple), PATH)
def test_agrees_with_the_packagers_matcher(lines: tuple[str, ...], path: str) -> None:
    if any(_differs_on_purpose(line) for line in lines):
        return
    try:
        wanted = pathspec.PathSpec.from_lines("gitignore", lines).match_file(path)
    except ValueError:
        return  # the packager would fail on this line
    assert bool(ignores(lines).decide(path)) is wanted


def _differs_on_purpose(line: str) -> bool:
    """Lines where git and that matcher part ways: slashes alone or in a row, a class that would match a slash."""
    plain = line.strip().lstrip("!").strip()
    return "//" in plain or not plain.strip("/") or "[!a]" in plain or plain.startswith("#")


def test_a_line_full_of_stars_costs_little() -> None:
    start = time.process_time()
    rules = ignores(("*a" * 40 + "b", "/**/a" * 30 + "/b"))
    assert rules.decide("a" * 200) is None
    assert rules.decide("a/" * 60 + "c") is None
    assert time.process_time() - start < 0.5
