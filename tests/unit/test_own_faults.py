"""A fault of our own, as a program and as a person is told of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from proctor.cli import main


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("nobody foresaw\x1b[31m this")

    monkeypatch.setattr(main, "app", fails)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["proctor", *arguments])
    with pytest.raises(SystemExit) as told:
        main.main()
    return told.value.code


def test_with_json_a_fault_of_ours_is_an_error_like_every_other(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "audit", "--json") == 5
    error = json.loads(capsys.readouterr().out)["error"]
    assert set(error) == {"code", "message", "where", "remedy"}
    assert (error["code"], error["message"]) == ("own-fault", "RuntimeError: nobody foresaw?[31m this")
    (report,) = broken.iterdir()
    assert str(report) in error["remedy"]
    assert "Traceback" in report.read_text(encoding="utf-8")


def test_without_it_is_told_on_standard_error(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "audit") == 5
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error [own-fault] RuntimeError: nobody foresaw?[31m this\n")
    assert "please report it" in told.err


def test_a_disk_without_room_for_the_report_hides_nothing(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(broken / "gone"))
    assert ended(monkeypatch, "audit", "--json") == 5
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "own-fault"
