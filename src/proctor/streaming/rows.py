"""From what a sender says to rows, each checked: what is wrong with one is told by its number, and the others go on.

A row is a JSON object: ``id`` and ``output``, and where they are known ``input``, ``expected``, ``model``, ``metadata``
and ``time``. Its ``key`` makes it harmless to send again whatever it is sent with; rows without one are known by the
key of what they are sent in. A sender that takes rows from elsewhere says with ``line`` which it was there, and with
``malformed`` why it can't be read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from proctor.datasets.examples import DIGEST_BYTES, TOO_DEEP, Example, json_text
from proctor.datasets.fields import FieldInvalid, Fields, Raw, read_example
from proctor.datasets.formats.json_rows import object_of
from proctor.kernel.canonical import Json, canonical_json
from proctor.streaming.errors import RowsInvalid
from proctor.streaming.values import Entry, Refusal, Row

__all__ = ["REQUEST_BYTES", "REQUEST_ROWS", "ROW_BYTES", "batches", "keyed", "lines_of", "read_entries"]

ROW_BYTES: int = 1 << 20
"""Of a row: an answer of a quarter of a million tokens. What is larger is no traffic but a file."""
REQUEST_ROWS: int = 5_000
"""Sent at once: half a chunk, which its reading takes a tenth of a second for."""
REQUEST_BYTES: int = 8 << 20
"""Sent at once: what a hundred senders at a time may make a server hold."""
MODEL_CHARACTERS: int = 300
REASON_CHARACTERS: int = 300
SAID_CHARACTERS: int = 500
"""Of a refused row that are kept: enough to find it where it came from."""
KEY_CHARACTERS: int = 255
"""Of a key, as of an Idempotency-Key."""
LAST_LINE: int = 2**31 - 1
"""What a database's integer holds; a line beyond it is told as it was sent."""
_KNOWN = frozenset({"id", "input", "expected", "output", "model", "metadata", "time", "key", "line"})
_ASKED = ("id", "input", "expected", "metadata")
_MALFORMED = frozenset({"malformed", "said", "key", "line"})


@dataclass(frozen=True, slots=True)
class _Told:
    """A row as it was sent. ``line``: its number where the sender took it from; ``row``: what it is, or why it is
    none."""

    number: int
    line: int | None
    key: str | None
    row: Row | FieldInvalid
    said: str
    digest: bytes


def read_entries(body: bytes, key: str | None) -> list[Entry]:
    """What was sent, by what makes it harmless to send again. ``key``: of the whole; ``None``: it has none.

    Raises ``RowsInvalid`` for none, or for too many at once.
    """
    if len(body) > REQUEST_BYTES:
        raise RowsInvalid(f"At most {REQUEST_BYTES >> 20} MiB are taken at once.", remedy="Send less at once.")
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not lines:
        raise RowsInvalid("There is no row in it.")
    if len(lines) > REQUEST_ROWS:
        raise RowsInvalid(f"At most {REQUEST_ROWS:,} rows are taken at once.", remedy="Send fewer at once.")
    told = [_told(number, line) for number, line in enumerate(lines, 1)]
    single = [_entry(f"row\0{one.key}", [one], is_row=True) for one in told if one.key is not None]
    rest = [one for one in told if one.key is None]
    whole = [_entry(f"all\0{key or uuid4()}", rest, is_row=False)] if rest else []
    return [*single, *whole]


def _entry(key: str, told: Sequence[_Told], *, is_row: bool) -> Entry:
    hasher = hashlib.sha256()
    for one in told:
        hasher.update(one.digest)
    refused = [one for one in told if isinstance(one.row, FieldInvalid)]
    return Entry(
        is_row=is_row,
        key=hashlib.sha256(key.encode()).digest()[:DIGEST_BYTES],
        digest=hasher.digest()[:DIGEST_BYTES],
        rows=tuple(one.row for one in told if isinstance(one.row, Row)),
        refusals=tuple(_refusal(one) for one in refused),
        said=tuple(one.said for one in refused),
        first=told[0].number,
        line=told[0].line,
    )


def _refusal(one: _Told) -> Refusal:
    assert isinstance(one.row, FieldInvalid)
    reason = one.row.reason[:REASON_CHARACTERS].replace("\0", "")
    field = one.row.field[:MODEL_CHARACTERS].replace("\0", "")
    return Refusal(row=one.number, field=field, reason=reason, line=one.line)


def _told(number: int, line: bytes) -> _Told:
    digest = hashlib.sha256(line.strip()).digest()
    raw = object_of(line) if len(line) <= ROW_BYTES else FieldInvalid("", f"it takes more than {ROW_BYTES >> 20} MiB")
    said = line[: 4 * SAID_CHARACTERS].decode(errors="replace")
    if isinstance(raw, FieldInvalid):
        return _Told(number, None, None, raw, _short(said), digest)
    try:
        place = _place(raw.get("line"))
        key = _key(raw.get("key"))
    except FieldInvalid as error:
        return _Told(number, None, None, error, _short(said), digest)
    if "malformed" in raw and raw.keys() <= _MALFORMED:
        text = raw.get("said")
        reason = FieldInvalid("", str(raw["malformed"]).encode(errors="replace").decode())
        return _Told(number, place, key, reason, _short(text if isinstance(text, str) else said), digest)
    try:
        return _Told(number, place, key, _row(raw), _short(said), digest)
    except FieldInvalid as error:
        return _Told(number, place, key, error, _short(said), digest)


def _short(text: str) -> str:
    """The beginning of a text as one that a database can keep."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")[:SAID_CHARACTERS]


def _row(raw: Raw) -> Row:
    """Raises ``FieldInvalid``."""
    for name in raw:
        if name not in _KNOWN:
            raise FieldInvalid(name[:100], f"there is no such field; {', '.join(sorted(_KNOWN))} may be")
    if raw.get("id") is None:
        raise FieldInvalid("id", "it is missing")
    asked = {name: raw[name] for name in _ASKED if name in raw}
    has_input = raw.get("input") is not None
    example = read_example(asked if has_input else {**asked, "input": ""}, Fields())
    output, is_json = _output(raw.get("output"))
    return Row(
        id=example.id,
        input=example.input if has_input else None,
        input_is_json=example.input_is_json,
        expected=example.expected,
        expected_is_json=example.expected_is_json,
        metadata=example.metadata,
        digest=example.digest() if has_input else _digest(example),
        output=output,
        output_is_json=is_json,
        model=_word(raw.get("model")),
        time=_time(raw.get("time")),
    )


def _digest(example: Example) -> bytes:
    """Of what was expected where nobody says what was asked: no dataset has such an example."""
    said: dict[str, Json] = {
        "expected": example.expected,
        "expected_is_json": example.expected_is_json,
        "id": example.id,
        "input": None,
        "metadata": example.metadata,
    }
    return hashlib.sha256(canonical_json(said)).digest()[:DIGEST_BYTES]


def _output(value: object) -> tuple[str, bool]:
    if value is None:
        raise FieldInvalid("output", "it is missing")
    try:
        text, is_json = json_text(value)  # type: ignore[arg-type]  # what is no JSON is told
        text.encode()
    except UnicodeEncodeError as error:
        raise FieldInvalid("output", "it has half a character") from error
    except RecursionError as error:
        raise FieldInvalid("output", TOO_DEEP) from error
    except (ValueError, TypeError) as error:
        raise FieldInvalid("output", "it is neither text nor JSON") from error
    return text, is_json


def _word(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= MODEL_CHARACTERS or not value.isprintable():
        raise FieldInvalid("model", f"it must be a text of 1 to {MODEL_CHARACTERS} characters that can be printed")
    return value


def _key(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= KEY_CHARACTERS or not value.isprintable():
        raise FieldInvalid("key", f"it must be a text of 1 to {KEY_CHARACTERS} characters that can be printed")
    return value


def _place(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LAST_LINE:
        raise FieldInvalid("line", f"it must be a whole number from 1 to {LAST_LINE:,}")
    return value


def _time(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        if found is not None and found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise FieldInvalid("time", "it must be a time with its zone, such as 2026-12-01T12:00:00Z")


# --- for those who send ----------------------------------------------------------------------------------------------


def keyed(line: bytes, key: str, number: int | None = None) -> bytes:
    """A line of somebody else's as a row with a key; what is no object says what it is instead. ``number``: of the
    line, where it has one."""
    told = {"key": key} if number is None or number > LAST_LINE else {"key": key, "line": number}
    raw = object_of(line) if len(line) <= ROW_BYTES - _KEY_ROOM else FieldInvalid("", "it is too long")
    if isinstance(raw, FieldInvalid):
        said = _short(line[: 4 * SAID_CHARACTERS].decode(errors="replace"))
        return _line({"malformed": raw.reason[:REASON_CHARACTERS], "said": said, **told})
    return _line({**raw, **told})


def lines_of(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Rows as they are sent."""
    return b"\n".join(map(_line, rows))


def batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines in such batches as may be sent at once."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        if held and (len(held) == REQUEST_ROWS or size + len(line) + 1 > REQUEST_BYTES):
            yield held
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield held


def _line(row: Mapping[str, object]) -> bytes:
    """As short as can be; half a character goes as it came, and is told by whoever reads it."""
    try:
        return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(row, separators=(",", ":")).encode()


_KEY_ROOM: int = 1_000
"""Bytes that a key adds to a row at the most."""
