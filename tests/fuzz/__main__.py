"""`python -m tests.fuzz answers|conversations|compactions|guard`: long runs, which go on where they were interrupted.

`answers --number N` shows one mutation and what it is read to, `guard --number N` what the guard makes of one result.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from typing import Final

from tests.fuzz import cutting, guarding
from tests.fuzz.encoding import BATCH, batch
from tests.fuzz.fuzzing import Verdict, case, corpus_id, judged, seeds
from tests.fuzz.marathon import Marathon, Tally
from tests.fuzz.requests import ADAPTERS, Adapter

SEED: Final = 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("what", choices=("answers", "conversations", "compactions", "guard"))
    parser.add_argument(
        "-n", type=int, default=10_000, help="mutations, conversations per adapter, or results (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--number", type=int, help="show this mutation, and nothing else")
    given = parser.parse_args()
    if given.number is not None:
        return _show(given.seed, given.number) if given.what == "answers" else _show_guarded(given.seed, given.number)
    run = {"answers": _answers, "conversations": _conversations, "compactions": _compactions, "guard": _guard}[given.what]
    tally = run(given.seed, given.n).run()
    for line in tally.wrong:
        print(line)
    return 1 if tally.wrong else 0


# ---- answers -----------------------------------------------------------------------------------------


def _answers(seed: int, count: int) -> Marathon:
    def step(number: int, tally: Tally) -> None:
        _count(judged(seed, number), tally)

    made, recorded = seeds()
    about = {"seed": seed, "corpus": {"id": corpus_id(), "made": len(made), "recorded": len(recorded)}}
    return Marathon("fuzz", count, about, step)


def _count(verdict: Verdict, tally: Tally) -> None:
    sent = verdict.case.sent
    tally.counts.update((verdict.word, f"wire: {sent.spoken.protocol}"))
    tally.counts.update(f"mutation: {name}" for name in verdict.case.names)
    for problem in verdict.wrong:
        tally.fail(f"{verdict.case.number}: {problem}")
    # A short body takes the time of a call, whatever it says.
    per_byte = round(verdict.seconds / (len(sent.body) + 1_000) * 1e6, 3)
    if per_byte > tally.slowest.get("microseconds_per_byte", 0.0):
        tally.slowest = {"number": verdict.case.number, "bytes": len(sent.body), "microseconds_per_byte": per_byte}


def _show(seed: int, number: int) -> int:
    sent, names = (found := case(seed, number)).sent, found.names
    print(f"{sent.spoken.protocol}:{sent.spoken.dialect} {sent.status} {', '.join(names)}")
    print(sent.body.decode("utf-8", "backslashreplace"))
    verdict = judged(seed, number)
    print(verdict.word)
    print("\n".join(verdict.wrong) or "nothing is wrong")
    return 1 if verdict.wrong else 0


# ---- conversations -----------------------------------------------------------------------------------


def _conversations(seed: int, count: int) -> Marathon:
    return Marathon("conversations", -(-count // BATCH), {"seed": seed, "batch": BATCH}, _batches(seed, batch))


def _compactions(seed: int, count: int) -> Marathon:
    size = cutting.BATCH
    return Marathon("compactions", -(-count // size), {"seed": seed, "batch": size}, _batches(seed, cutting.batch))


def _batches(seed: int, batch: Callable[[Adapter, int], Counter[str]]) -> Callable[[int, Tally], None]:
    """One step is a batch for each adapter."""

    def step(number: int, tally: Tally) -> None:
        for adapter in ADAPTERS:
            try:
                tally.counts.update(batch(adapter, seed * 1_000_000 + number))
            except Exception as error:  # noqa: BLE001
                notes = "\n".join(getattr(error, "__notes__", ()))
                tally.fail(f"batch {number} of {adapter.name}: {type(error).__name__}: {error}\n{notes}"[:4_000])

    return step


# ---- guard -------------------------------------------------------------------------------------------


def _guard(seed: int, count: int) -> Marathon:
    """One step is one result."""

    def step(number: int, tally: Tally) -> None:
        try:
            found = guarding.judged(seed, number)
        except Exception as error:  # noqa: BLE001
            tally.fail(f"{number}: {type(error).__name__}: {error}"[:1_000])
            return
        tally.counts.update(found.words)
        for problem in found.wrong:
            tally.fail(f"{number}: {problem}"[:1_000])

    return Marathon("guard", count, {"seed": seed}, step)


def _show_guarded(seed: int, number: int) -> int:
    found = guarding.judged(seed, number)
    print(", ".join(found.words))
    print("\n".join(found.wrong) or "nothing is wrong")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
