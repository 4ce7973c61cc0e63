"""A hundredth of `make fuzz N=1000000`, and what a random mutation would seldom hit."""

from __future__ import annotations

import pytest

from tests.fuzz.corpus import WIRES, Answer
from tests.fuzz.fuzzing import case, judged, seeds
from tests.fuzz.growth import CASES, GROWTH, MOST, problems, seconds
from tests.fuzz.judging import answer, wrong

SEED = 1
NUMBERS = 10_000
STREAMS = [one for one in seeds()[0] if one.streamed]


def test_no_mutation_of_an_answer_is_anything_but_a_reply_or_a_failure() -> None:
    words: set[str] = set()
    bad: list[str] = []
    for number in range(NUMBERS):
        verdict = judged(SEED, number)
        words.add(verdict.word)
        bad += [f"python -m tests.fuzz --number {number}: {problem}" for problem in verdict.wrong]

    assert bad == []
    assert {"reply: end", "reply: tool_calls", "reply: refusal", "failure: server", "failure: connection"} <= words


def test_a_number_is_always_the_same_mutation() -> None:
    assert [case(7, number).sent for number in range(50)] == [case(7, number).sent for number in range(50)]
    assert case(7, 1).sent != case(8, 1).sent


@pytest.mark.parametrize("number", range(len(STREAMS)))
def test_a_stream_cut_at_any_byte_is_a_reply_or_a_failure(number: int) -> None:
    sent = STREAMS[number]
    whole = answer(sent.spoken, sent.status, [sent.body], streamed=True)
    for cut in range(0, len(sent.body) + 1, 1 if len(sent.body) < 3_000 else 3):
        outcome = answer(sent.spoken, sent.status, [sent.body[:cut]], streamed=True)
        if outcome != whole:
            assert wrong(sent.spoken, outcome) == [], f"cut at {cut}"


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"{}", b"5", b'"x"', b"\xff", b"[" * 100_000, b'{"a":' * 100_000])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_barest_bodies(value: bytes, streamed: bool) -> None:
    for spoken in WIRES:
        for sent in (Answer(spoken, 200, streamed, value), Answer(spoken, 500, streamed, value)):
            body = b"data: " + value + b"\n\n" if streamed else value
            assert wrong(spoken, answer(spoken, sent.status, [body], streamed=streamed)) == []


@pytest.mark.parametrize("name", CASES)
def test_reading_takes_time_in_proportion(name: str) -> None:
    assert problems(name, 40) == []
    # The least of some tries: a machine that does other things makes single ones slow.
    ratios = (seconds(name, 60 * GROWTH, times=2) / max(seconds(name, 60, times=3), 1e-4) for _ in range(4))
    assert any(ratio < MOST for ratio in ratios)
