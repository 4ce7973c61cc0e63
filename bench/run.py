"""`make bench`: CPU of geode as a multiple of a hand-written loop on the official SDK, in one interleaved run.

    W1   50 rounds of 3 parallel calls, tools validated
    W2   200 rounds of 1 call with 2 KB results: does a round grow with the history?
    cold `import geode`, and a scripted session up to its first model call, in fresh processes

Ratios of medians; absolute times mean nothing elsewhere. The result is printed and written to
`docs/evidence/bench.json` with the commit. `--profile WIRE` prints where the time of W1 goes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import platform
import pstats
import subprocess
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import httpx2
from cold import cold
from loops import FINAL, Run, Tool, geode_run, raw_run
from provider import BenchProvider

WIRES = ("messages", "responses", "chat")
W1_LIMITS = {"messages": 0.6, "responses": 0.03, "chat": 0.06}
W2_LIMIT = 2.0
COLD_LIMITS = {"import geode": 100.0, "first call": 200.0}
EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence" / "bench.json"


async def timed(run: Run, tool: Tool, calls: int) -> float:
    """CPU seconds of one run, which must have done all of its work."""
    tool.ran, before = 0, process_time()
    text = await run()
    spent = process_time() - before
    assert (text, tool.ran) == (FINAL, calls), (text, tool.ran)
    return spent


async def w1(wire: str, passes: int) -> dict[str, Any]:
    tool = Tool(long=False)
    async with httpx2.AsyncClient(transport=BenchProvider(wire, 50, 3)) as http:
        peers = {"raw": raw_run(wire, tool, http), "geode": geode_run(wire, tool, http)}
        spent: dict[str, list[float]] = {name: [] for name in peers}
        for turn in range(passes + 1):  # the first pass warms up
            for name, run in peers.items():
                seconds = await timed(run, tool, 150)
                if turn:
                    spent[name].append(seconds)
    raw, ours = median(spent["raw"]), median(spent["geode"])
    return {
        "raw_ms": round(raw * 1e3, 1),
        "geode_ms": round(ours * 1e3, 1),
        "ratio": round(ours / raw, 4),
        "limit": W1_LIMITS[wire],
    }


async def w2(wire: str, passes: int) -> dict[str, Any]:
    """Client CPU between an answer and the next request, around round 10 and around round 200."""
    tool, early, late = Tool(long=True), [], []
    provider = BenchProvider(wire, 200, 1)
    async with httpx2.AsyncClient(transport=provider) as http:
        run = geode_run(wire, tool, http)
        for _ in range(passes + 1):
            provider.came.clear()
            provider.left.clear()
            await timed(run, tool, 200)
            spent = [came - left for came, left in zip(provider.came[1:], provider.left, strict=False)]
            early.append(median(spent[5:15]))
            late.append(median(spent[180:200]))
    at_10, at_200 = median(early[1:]), median(late[1:])
    return {
        "at_10_ms": round(at_10 * 1e3, 3),
        "at_200_ms": round(at_200 * 1e3, 3),
        "ratio": round(at_200 / at_10, 2),
        "limit": W2_LIMIT,
    }


async def profile(wire: str) -> None:
    tool = Tool(long=False)
    async with httpx2.AsyncClient(transport=BenchProvider(wire, 50, 3)) as http:
        run = geode_run(wire, tool, http)
        await timed(run, tool, 150)
        with cProfile.Profile() as profiler:
            await timed(run, tool, 150)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--profile", choices=WIRES)
    given = parser.parse_args()
    if given.profile:
        asyncio.run(profile(given.profile))
        return
    result: dict[str, Any] = {"commit": commit(), "python": platform.python_version(), "W1": {}, "W2": {}}
    for wire in WIRES:
        result["W1"][wire] = found = asyncio.run(w1(wire, given.passes))
        times = f"{found['geode_ms']} ms against {found['raw_ms']} ms"
        print(f"W1 {wire:10} {found['ratio']:.3f} × raw SDK (goal {found['limit']})   {times}")
    for wire in WIRES:
        result["W2"][wire] = found = asyncio.run(w2(wire, given.passes))
        print(f"W2 {wire:10} round 200 costs {found['ratio']:.2f} × round 10 (goal {found['limit']})")
    result["cold_ms"] = found = cold(given.passes)
    for name, spent in found.items():
        print(f"cold {name:12} {spent} ms of CPU (goal {COLD_LIMITS[name]:.0f})")
    EVIDENCE.parent.mkdir(parents=True, exist_ok=True)
    EVIDENCE.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
