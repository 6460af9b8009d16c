"""The same JSON is read and written with the fast library and without it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from uuid import UUID

import pytest

from proctor.models import codec

ODD = [
    b'{"a":18446744073709551616,"b":[1.5,-0.0,1e-7],"a":2}',
    b'"\\ud800"',
    b'"\xed\xa0\x80"',
    b"[NaN]",
    b"1e400",
    b"\xef\xbb\xbf{}",
    "{}".encode("utf-16"),
    b" 7 ",
]
NONE = [b"", b"{]", b"[1,]", b"01", b'"\xff"', b'"\x01"', b"[1]x", b'"\\x"']


@pytest.fixture(params=["fast", "slow"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    if request.param == "slow":
        monkeypatch.setitem(sys.modules, "msgspec", None)
    yield importlib.reload(codec)
    monkeypatch.undo()
    importlib.reload(codec)


@pytest.mark.parametrize("data", ODD)
def test_what_pythons_own_reader_takes_is_read_alike(either: ModuleType, data: bytes) -> None:
    assert repr(either.read_json(data)) == repr(json.loads(data))


@pytest.mark.parametrize("data", NONE)
def test_what_is_no_json_is_refused(either: ModuleType, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        either.read_json(data)


def test_what_is_nested_too_deep_is_refused(either: ModuleType) -> None:
    with pytest.raises(RecursionError):
        either.read_json(b"[" * 100_000 + b"]" * 100_000)


def test_what_is_written_is_read_again(either: ModuleType) -> None:
    moment, id = datetime(2026, 12, 1, 10, 0, 0, 5, UTC), UUID(int=7)
    written = either.write_json({"at": moment, "id": id, "n": 2**70, "half": "\ud800", "\u00e9": None})
    told = json.loads(written)
    assert datetime.fromisoformat(told.pop("at")) == moment
    assert told == {"id": str(id), "n": 2**70, "half": "\ud800", "\u00e9": None}
