"""`python -m tests.fuzz`: random mutations of answers, or `--number` to look at one of them."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from tests.fuzz.fuzzing import Verdict, case, corpus_id, judged, seeds
from tests.fuzz.marathon import Marathon, Tally

SEED: Final = 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("-n", type=int, default=10_000, help="how many mutations (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--number", type=int, help="show this mutation and what it is read to, and nothing else")
    given = parser.parse_args()
    if given.number is not None:
        return _show(given.seed, given.number)

    def step(number: int, tally: Tally) -> None:
        _count(judged(given.seed, number), tally)

    made, recorded = seeds()
    about = {"seed": given.seed, "corpus": {"id": corpus_id(), "made": len(made), "recorded": len(recorded)}}
    tally = Marathon("fuzz", given.n, about, step).run()
    for line in tally.wrong:
        print(line)
    return 1 if tally.wrong else 0


def _count(verdict: Verdict, tally: Tally) -> None:
    tally.counts[verdict.word] += 1
    tally.counts[f"wire: {verdict.case.sent.spoken.protocol}"] += 1
    for name in verdict.case.names:
        tally.counts[f"mutation: {name}"] += 1
    for problem in verdict.wrong:
        tally.fail(f"{verdict.case.number}: {problem}")
    # Short bodies take the time of a call, whatever they say.
    ratio = verdict.seconds / (len(verdict.case.sent.body) + 1_000) * 1e6
    if ratio > tally.slowest.get("microseconds_per_byte", 0.0):
        size = len(verdict.case.sent.body)
        tally.slowest = {"number": verdict.case.number, "bytes": size, "microseconds_per_byte": round(ratio, 3)}


def _show(seed: int, number: int) -> int:
    found = case(seed, number)
    print(f"{found.sent.spoken.protocol}:{found.sent.spoken.dialect} {found.sent.status} {', '.join(found.names)}")
    print(found.sent.body.decode("utf-8", "backslashreplace"))
    verdict = judged(seed, number)
    print(verdict.word)
    print("\n".join(verdict.wrong) or "nothing is wrong")
    return 1 if verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
