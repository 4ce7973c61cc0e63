"""Splitting server-sent events: bytes in, payloads out, however the bytes are cut."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.adapters.http_json.sse import EventSplitter, EventTooLong

WHOLE = (
    b": a comment\n\n"
    b'event: message_start\nid: 7\nretry: 10\ndata: {"a":1}\n\n'
    b"data:\n\n"
    b'data:{"no":"space"}\r\n\r\n'
    b': OPENROUTER PROCESSING\n\ndata: {"lines":\ndata: 2}\n\n'
    + 'data: {"text":"日本 🙂 \u2028\u2029\u0085 ü"}\n\n'.encode()
    + b"event: ping\n\n"
    b"data: [DONE]\n\n"
)
PAYLOADS = [
    b'{"a":1}',
    b'{"no":"space"}',
    b'{"lines":\n2}',
    '{"text":"日本 🙂 \u2028\u2029\u0085 ü"}'.encode(),
    b"[DONE]",
]


def _split(*chunks: bytes) -> list[bytes]:
    splitter = EventSplitter()
    found = [payload for chunk in chunks for payload in splitter.feed(chunk)]
    return [*found, *splitter.end()]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_payloads_are_the_same_wherever_the_bytes_are_cut(newline: bytes, bom: bytes) -> None:
    data = bom + WHOLE.replace(b"\r\n", b"\n").replace(b"\n", newline)

    assert _split(data) == PAYLOADS
    for cut in range(len(data) + 1):
        assert _split(data[:cut], data[cut:]) == PAYLOADS
    assert _split(*[data[place : place + 1] for place in range(len(data))]) == PAYLOADS


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12).map(sorted))
def test_any_chunking_gives_the_same(cuts: list[int]) -> None:
    edges = [0, *cuts, len(WHOLE)]
    assert _split(*[WHOLE[start:end] for start, end in pairwise(edges)]) == PAYLOADS


def test_a_payload_is_there_as_soon_as_its_blank_line_is() -> None:
    splitter = EventSplitter()

    assert splitter.feed(b'data: {"a":1}\n') == []
    assert splitter.feed(b"\n") == [b'{"a":1}']
    assert splitter.feed(b'data: {"b":2}\r\n') == []
    assert splitter.feed(b"\r") == [b'{"b":2}']
    assert splitter.feed(b"\n") == []


@pytest.mark.parametrize("rest", [b'data: {"z":1}', b'data: {"z":1}\n', b'data: {"z":1}\r\n'])
def test_a_last_event_without_its_blank_line_is_given_at_the_end(rest: bytes) -> None:
    assert _split(WHOLE + rest) == [*PAYLOADS, b'{"z":1}']


def test_a_bom_is_passed_over_at_the_start_alone() -> None:
    bom = b"\xef\xbb\xbf"
    event = bom + b'data: {"a":1}\n\n'

    assert _split(event, event) == [b'{"a":1}']
    assert _split(bom + bom + b"data: 1\n\n") == []


def test_fields_that_only_begin_like_data_are_passed_over() -> None:
    assert _split(b"database: 1\ndat: 2\n data: 3\n\n") == []


def test_a_long_line_in_many_chunks_takes_linear_time() -> None:
    def seconds(chunks: int) -> float:
        splitter, piece = EventSplitter(), b"x" * 1000
        start = time.process_time()
        splitter.feed(b'data: "')
        for _ in range(chunks):
            splitter.feed(piece)
        (payload,) = splitter.feed(b'"\n\n')
        assert len(payload) == 1000 * chunks + 2
        return time.process_time() - start

    few, many = (min(seconds(chunks) for _ in range(3)) for chunks in (500, 8000))
    # 16 times the work; were each chunk to copy what came before, it would be 256 times.
    assert many < 100 * max(few, 0.001)


@pytest.mark.parametrize("piece", [b"x" * 10, b": " + b"x" * 10, b"data:\n", b"data: x\n"])
def test_an_event_without_end_is_not_kept(piece: bytes) -> None:
    splitter = EventSplitter(most=100)
    for _ in range(100 // len(piece)):
        splitter.feed(piece)
    with pytest.raises(EventTooLong, match="more than 100 bytes"):
        splitter.feed(piece * 2)


def test_the_bound_is_that_of_one_event() -> None:
    splitter = EventSplitter(most=100)
    event = b"data: " + b"x" * 80 + b"\n\n"
    assert [len(splitter.feed(event)) for _ in range(50)] == [1] * 50
    assert len(splitter.feed(event * 50)) == 50
