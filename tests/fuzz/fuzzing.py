"""One mutation by its number: the same number, the same mutation, as long as the corpus is the same."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from tests.fuzz.corpus import WIRES, Answer, corpus
from tests.fuzz.judging import answer, word, wrong
from tests.fuzz.mutations import chunks, mutated, rewrapped


@dataclass(frozen=True)
class Case:
    """What is sent, by whom; `pristine` has the same events in another wrapping, and must be read the same."""

    number: int
    sent: Answer
    names: tuple[str, ...]
    pristine: Answer | None = None


@dataclass(frozen=True)
class Verdict:
    case: Case
    word: str
    wrong: tuple[str, ...]
    seconds: float


@lru_cache(maxsize=1)
def seeds() -> tuple[list[Answer], list[Answer]]:
    return corpus()


def corpus_id() -> str:
    """Which corpus it is: with another one the numbers mean other mutations."""
    made, recorded = seeds()
    whole = b"\0".join(one.body for one in (*made, *recorded))
    return hashlib.sha256(whole).hexdigest()[:12]


def case(seed: int, number: int) -> Case:
    rng = Random(f"{seed}/{number}")
    made, recorded = seeds()
    # Half of them streams, which are fewer and can go wrong in more ways.
    streamed = rng.random() < 0.5
    sources = recorded if recorded and rng.random() < 0.7 else made
    origin = rng.choice([one for one in sources if one.streamed is streamed])
    if origin.streamed and origin.status == 200 and rng.random() < 0.08:
        frames = [frame for frame in origin.body.split(b"\n\n") if frame.strip()]
        wrapped = Answer(origin.spoken, 200, True, rewrapped(rng, frames))
        return Case(number, wrapped, ("another wrapping",), origin)
    body, names = mutated(rng, origin.body, streamed=origin.streamed)
    spoken, status, streamed = origin.spoken, origin.status, origin.streamed
    if rng.random() < 0.03:
        spoken = rng.choice(WIRES)
        names.append("another wire")
    if rng.random() < 0.03:
        status = rng.choice((200, 400, 402, 408, 429, 500, 529))
        names.append("another status")
    if rng.random() < 0.03:
        streamed = not streamed
        names.append("another kind of body")
    return Case(number, Answer(spoken, status, streamed, body), tuple(names))


def judged(seed: int, number: int) -> Verdict:
    """The mutation, read whole and in pieces. An exception in the reading is what is wrong."""
    found = case(seed, number)
    sent = found.sent
    started = time.perf_counter()
    try:
        outcome = answer(sent.spoken, sent.status, [sent.body], streamed=sent.streamed)
        seconds = time.perf_counter() - started
        problems = wrong(sent.spoken, outcome)
        pieces = chunks(Random(f"{seed}/{number}/chunks"), sent.body)
        if answer(sent.spoken, sent.status, pieces, streamed=sent.streamed) != outcome:
            problems.append("it depends on the chunks")
        if found.pristine is not None:
            plain = found.pristine
            if answer(plain.spoken, plain.status, [plain.body], streamed=True) != outcome:
                problems.append("it depends on the wrapping")
    except Exception as error:  # noqa: BLE001
        return Verdict(found, "exception", (f"{type(error).__name__}: {error}"[:300],), 0.0)
    return Verdict(found, word(outcome), tuple(problems), seconds)


def run(seed: int, numbers: range, each: Callable[[Verdict], None]) -> None:
    for number in numbers:
        each(judged(seed, number))


def failures(seed: int, numbers: range) -> Iterator[Verdict]:
    return (verdict for number in numbers if (verdict := judged(seed, number)).wrong)
