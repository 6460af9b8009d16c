"""What is written on a wire is read as what it was, whole and as a stream that is cut anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Reading, Wire, WireName
from tests.models.wire_strategies import TALKING, replies, requests

WHICH = pytest.mark.parametrize("name", TALKING)
FEW = settings(max_examples=60, deadline=None)


@WHICH
@FEW
@given(data=st.data())
def test_a_request_is_read_as_it_was_written(name: WireName, data: st.DataObject) -> None:
    wire = WIRES[name]
    request = data.draw(requests(name))
    body = json.loads(json.dumps(wire.write_request(request)))
    assert wire.read_request(body, model=request.model, stream=request.stream) == request
    facts = wire.facts(json.dumps(body).encode(), body, model=request.model, stream=request.stream)
    assert (facts.model, facts.stream, facts.stateful) == (request.model, request.stream, False)
    assert facts.max_output_tokens == request.max_output_tokens
    assert facts.tools == len(request.tools)


@WHICH
@FEW
@given(data=st.data())
def test_a_reply_is_read_as_it_was_written(name: WireName, data: st.DataObject) -> None:
    wire = WIRES[name]
    reply = data.draw(replies(name))
    body = json.loads(json.dumps(wire.write_reply(reply)))
    assert wire.read_reply(body) == reply
    reading = wire.read_whole(body)
    assert (reading.model, reading.usage, reading.finish, reading.id) == (
        reply.model,
        reply.usage,
        reply.finish,
        reply.id,
    )
    assert reading.error is None


@WHICH
@FEW
@given(data=st.data())
def test_a_stream_cut_anywhere_says_what_the_whole_says(name: WireName, data: st.DataObject) -> None:
    wire = WIRES[name]
    reply = data.draw(replies(name))
    whole = b"".join(wire.stream_reply(reply, {"stream_options": {"include_usage": True}}))
    if data.draw(st.booleans()):
        whole = whole.replace(b"\n", b"\r\n")
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=12)))
    pieces = (whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True))
    assert _metered(wire, pieces) == wire.read_whole(wire.write_reply(reply))


def _metered(wire: Wire, pieces: Iterable[bytes]) -> Reading:
    meter = wire.meter()
    for piece in pieces:
        meter.feed(piece)
    return meter.reading()
