"""What a command printed, as a trajectory step tells it: whole where it fits, else with a mark of what is missing."""

from __future__ import annotations

from proctor.agents.shell import command_step, printed
from proctor.sandboxes.interfaces import ExecResult


def result(stdout: bytes, stderr: bytes = b"", *, truncated: bool = False) -> ExecResult:
    return ExecResult(exit_code=0, signal=None, stdout=stdout, stderr=stderr, truncated=truncated)


def told(ended: ExecResult) -> str:
    observed = command_step(1, "make", ended).observation
    assert observed is not None
    (answer,) = observed.results
    assert isinstance(answer.content, str)
    return answer.content


def test_what_fits_is_told_whole() -> None:
    assert told(result(b"built\n", b"one warning\n")) == "built\none warning\n[exit 0]"


def test_of_more_its_beginning_and_its_end_are_told_and_what_is_missing_between() -> None:
    text = told(result(b"first\n" + b"x" * 300_000 + b"\nlast\n"))
    beginning, mark, end = text.split("[", 2)[0], text.split("[", 2)[1], text[-20:]
    assert beginning.startswith("first\n")
    assert end.endswith("\nlast\n[exit 0]")
    left_out = int(mark.partition(" ")[0].replace(",", ""))
    assert mark.startswith(f"{left_out:,} characters left out]")
    assert len(text) == 300_012 - left_out + len(f"\n[{left_out:,} characters left out]\n") + len("[exit 0]")


def test_what_the_sandbox_did_not_keep_is_said() -> None:
    assert printed(result(b"last\n", truncated=True), 100) == "[only the last of it was kept]\nlast\n"


def test_bytes_that_are_no_text_are_marked() -> None:
    assert printed(result(b"a\x00\xff"), 100) == "a\ufffd\ufffd"
