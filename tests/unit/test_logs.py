"""An attempt's log: in the order in which it was printed, secrets removed, characters whole."""

from __future__ import annotations

import json
from pathlib import Path

from proctor.engine.logs import LogWriter, text_of
from proctor.engine.segments import read_segments
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore

SECRET = "sk-0123456789abcdef"


async def lines(folder: Path, *pieces: tuple[str, str, bytes]) -> list[dict[str, str]]:
    objects, tenant, attempt = ObjectStore(folder), new_id(), new_id()
    log = LogWriter(objects, tenant, attempt, [SECRET], SystemClock())
    sinks = {}
    for phase, stream, data in pieces:
        if phase not in sinks:
            sinks[phase] = log.sink(phase)
        sinks[phase](stream, data)
    await log.close()
    segments = [segment for _, segment in read_segments(objects, tenant, attempt, after=0)]
    assert "".join(map(text_of, segments))
    return [json.loads(line) for segment in segments for line in segment.splitlines()]


async def test_an_agents_last_words_come_before_the_verifiers_first(tmp_path: Path) -> None:
    seen = await lines(
        tmp_path,
        ("agent", "stdout", b"the end"),
        ("agent", "stderr", b"bash: not found: s"),
        ("verify", "stdout", b"checking\n"),
    )
    assert "".join(line["text"] for line in seen) == "the endbash: not found: schecking\n"
    assert [line["phase"] for line in seen] == ["agent", "agent", "agent", "verify"]


async def test_the_mask_is_never_split_by_another_stream(tmp_path: Path) -> None:
    seen = await lines(
        tmp_path,
        ("agent", "stdout", b"token " + SECRET.encode()),
        ("agent", "stderr", b"bash: no\n"),
        ("agent", "stdout", b" was it\n"),
    )
    assert [line["text"] for line in seen] == ["token [secret removed]", "bash: no\n", " was it\n"]


async def test_a_secret_over_a_piece_border_is_removed_and_characters_stay_whole(tmp_path: Path) -> None:
    seen = await lines(
        tmp_path,
        ("agent", "stdout", SECRET[:5].encode()),
        ("agent", "stdout", SECRET[5:].encode() + "é".encode()[:1]),
        ("agent", "stdout", "é".encode()[1:]),
    )
    assert [line["text"] for line in seen] == ["[secret removed]", "é"]
