"""`python -m tests.unit.domain.loop_model -n 100000`: random runs on which the loop and the book must agree.

Goes on where it was interrupted, and leaves `docs/evidence/loop_model.json`. `--number N` plays one run.
"""

from __future__ import annotations

import argparse
import sys
from random import Random
from typing import Final

from tests.fuzz.marathon import Marathon, Tally
from tests.unit.domain.onlooker import Onlooker

SEED: Final = 1
# Every so many runs one is thorough: it goes through the codec before each input, and is given what is out of place.
THOROUGH: Final = 20


def played(seed: int, number: int, *, thorough: bool) -> Onlooker:
    """The run of this number; AssertionError where the two do not agree."""
    onlooker = Onlooker(Random(f"{seed} {number}").choice, thorough=thorough)
    try:
        onlooker.run()
    except Exception as error:
        error.add_note(f"in run {number} of seed {seed}, after {onlooker.inputs} inputs")
        raise
    return onlooker


def marathon(seed: int, count: int) -> Marathon:
    def step(number: int, tally: Tally) -> None:
        try:
            onlooker = played(seed, number, thorough=number % THOROUGH == 0)
        except Exception as error:  # noqa: BLE001
            tally.fail(f"{number}: {type(error).__name__}: {error}"[:2_000])
        else:
            tally.counts.update(inputs=onlooker.inputs)
            tally.counts.update(f"met: {name}" for name in onlooker.met)

    return Marathon("loop_model", count, {"seed": seed, "thorough_every": THOROUGH}, step)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.unit.domain.loop_model", description=__doc__)
    parser.add_argument("-n", type=int, default=10_000, help="runs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--number", type=int, help="play this run, and no other")
    given = parser.parse_args()
    if given.number is not None:
        onlooker = played(given.seed, given.number, thorough=True)
        print(f"{onlooker.inputs} inputs; met {', '.join(sorted(onlooker.met))}")
        return 0
    tally = marathon(given.seed, given.n).run()
    for line in tally.wrong:
        print(line)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
