"""Settings of the environment: a bad one is named, and its value is not repeated."""

from __future__ import annotations

import pytest

from proctor.settings import SettingInvalid, Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROCTOR_LEASE_SEC", "x"),
        ("PROCTOR_LEASE_SEC", "0"),
        ("PROCTOR_OBJECTS_URL", "ftp://x"),
        ("PROCTOR_OBJECTS_URL", "s3://"),
        ("PROCTOR_LOG_LEVEL", "zzz"),
        ("PROCTOR_EGRESS_NETWORKS", "10.0.0.0/8,here"),
        ("PROCTOR_EGRESS_NETWORKS", "10.0.0.1/8"),
        ("PROCTOR_SLO_OBJECTIVE", "99"),
        ("PROCTOR_SLO_OBJECTIVE", "1"),
        ("PROCTOR_SLO_OBJECTIVE", "0.93"),
        ("PROCTOR_SLO_OBJECTIVE", "nan"),
        ("PROCTOR_BACKUPS_ELSEWHERE", "x" * 201),
        ("PROCTOR_BACKUPS_ELSEWHERE", "pgBackRest\nnightly"),
        ("PROCTOR_BACKUPS_ELSEWHERE", "pgBackRest\x1b[31m"),
        ("PROCTOR_BACKUPS_ELSEWHERE", "pgBackRest\udcff"),
    ],
)
def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingInvalid) as caught:
        Settings()
    assert caught.value.where == name


def test_several_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_LEASE_SEC", "x")
    monkeypatch.setenv("PROCTOR_LOG_LEVEL", "zzz")
    with pytest.raises(SettingInvalid, match="PROCTOR_LEASE_SEC: .*\n.*PROCTOR_LOG_LEVEL: "):
        Settings()


def test_levels_may_be_written_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_LOG_LEVEL", "INFO")
    assert Settings().log_level == "info"


def test_an_objective_says_how_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().slo_objective == 0.99
    monkeypatch.setenv("PROCTOR_SLO_OBJECTIVE", "99")
    with pytest.raises(SettingInvalid, match=r"share from 0\.95 to 0\.9999, such as 0\.99 for 99 %"):
        Settings()
    monkeypatch.setenv("PROCTOR_SLO_OBJECTIVE", "0.995")
    assert Settings().slo_objective == 0.995


def test_nobody_takes_backups_elsewhere_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, kept in (("", None), ("  ", None), (" the night's pgBackRest ", "the night's pgBackRest")):
        monkeypatch.setenv("PROCTOR_BACKUPS_ELSEWHERE", said)
        assert Settings().backups_elsewhere == kept


@pytest.mark.parametrize(
    "said", ["0", "false", "NO", " None ", "off", "n", "nobody", "-", "?", "\u200b", "\u2060", "\u3164", "\u2800"]
)
def test_what_names_nobody_does_not_switch_the_alarm_off(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("PROCTOR_BACKUPS_ELSEWHERE", said)
    with pytest.raises(SettingInvalid, match="unset it") as caught:
        Settings()
    assert caught.value.where == "PROCTOR_BACKUPS_ELSEWHERE"


@pytest.mark.parametrize("said", ["Nadia", "夜間のバックアップ", "no-downtime backups of the provider", "restic 0"])
def test_who_takes_them_may_be_anybody(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("PROCTOR_BACKUPS_ELSEWHERE", said)
    assert Settings().backups_elsewhere == said


@pytest.mark.parametrize("said", ["", "  "])
def test_an_empty_objective_is_the_usual_one(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("PROCTOR_SLO_OBJECTIVE", said)
    assert Settings().slo_objective == 0.99
