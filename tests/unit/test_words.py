"""Numbers with their nouns, ages, progress that adds up, text that gives a terminal no orders."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
import stamina
import typer

from proctor.cli.output import told
from proctor.cli.running import _line, told_how_to_go_on
from proctor.cli.terminal import calm
from proctor.engine.reading import Progress
from proctor.kernel.words import counted
from proctor.reports.formats import ago
from proctor.sdk.client import Client

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(("number", "text"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells"), (1200, "1,200 cells")])
def test_counted(number: int, text: str) -> None:
    assert counted(number, "cell") == text


@pytest.mark.parametrize(
    ("passed", "text"), [(3, "just now"), (60, "1 minute ago"), (7300, "2 hours ago"), (90_000, "1 day ago")]
)
def test_ago(passed: int, text: str) -> None:
    assert ago(NOW - timedelta(seconds=passed), NOW) == text


def test_the_progress_line_adds_up() -> None:
    seen = Progress(expected=80, decided=13, passed=9, queued=60, waiting=1, running=4, dead=0)
    made = {"decided": Counter(passed=6, failed=3), "undecided": Counter(image_error=1), "preflight": None}
    waits = "cell 3f8a12c0 needs 2 processors, 1 are left on this node"
    session: Any = SimpleNamespace(progress=lambda: seen, running=2, held_back=waits, **made)
    assert _line(cast("Any", session)) == (
        "13 of 80 decided: passed 6 · failed 3 · 4 earlier or elsewhere · 2 running · 1 waiting · "
        "cell 3f8a12c0 needs 2 processors, 1 are left on this node · "
        "attempts without a verdict: image_error 1"
    )


@pytest.mark.parametrize(("newest", "named"), [(True, "nightly"), (False, "00000000-0000-0000-0000-000000000001")])
def test_an_interrupted_run_says_what_to_type(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, newest: bool, named: str
) -> None:
    run_set: Any = SimpleNamespace(name="nightly", id=UUID(int=1))
    other: Any = SimpleNamespace(name="nightly", id=UUID(int=2))
    monkeypatch.setattr(Client, "find", lambda *_: run_set if newest else other)
    client = Client(cast("Any", None))
    with pytest.raises(typer.Exit) as caught, told_how_to_go_on(client, run_set):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert f"To go on: proctor resume {named}\n" in capsys.readouterr().err


def test_an_interruption_before_anything_began_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught, told(as_json=False):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert "give the same command again" in capsys.readouterr().err


def test_reconnecting_is_told_by_our_own_log_alone() -> None:
    import proctor.database.engine  # noqa: F401

    assert tuple(stamina.instrumentation.get_on_retry_hooks()) == ()


def test_calm_text_keeps_lines_and_letters_and_no_orders() -> None:
    assert calm("a\tß\r\nb\x1b]0;x\x07\x9b2J\u202e") == "a\tß\nb?]0;x??2J?"
