"""What many tools cost the context, with all of them in the list and with most of them deferred, on each wire.

    make many-tools

A run searches one of them, calls it, and answers; an emulator judges each request. Tokens are those of the tool part
of a request's body, by the estimate; "conversation" is what searching and calling added to the last body.
The figures go to `docs/evidence/deferred_tools.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import geode
from geode.domain.policy import Policy
from geode.domain.script import calls, says
from geode.domain.targets import WireName
from geode.domain.tiers import SafetyTier
from geode.domain.tokens import estimate_tokens
from geode.domain.tool_search import SEARCH
from geode.domain.tools import ToolSpec
from geode.entrypoints.emulator import Emulator, running
from geode.ports.tools import Tool
from tests.fuzz.marathon import EVIDENCE, commit

PATHS: Final[dict[WireName, str]] = {"messages": "", "responses": "/v1", "chat": "/v1"}
VERBS: Final = ("list", "get", "create", "update", "delete", "search", "archive", "export", "share", "watch")
THINGS: Final = (
    *("issue", "branch", "commit", "invoice", "contract", "calendar_event", "contact", "letter", "ticket", "dashboard"),
    *("deployment", "secret", "bucket", "table", "query", "index", "queue", "topic", "alert", "incident"),
    *("webhook", "label", "milestone", "release", "package", "image", "volume", "network", "policy", "role"),
    *("group", "user", "report", "metric", "trace", "survey", "form", "page", "space", "comment"),
    *("shipment", "order", "refund", "voucher", "supplier", "warehouse", "route", "vehicle", "driver", "parcel"),
)
WANTED: Final = "refund"
# Of the whole tool part: the search tool, the tool that reads long results, and one that is always there.
MOST_TOKENS: Final = 600


@dataclass(frozen=True)
class Figures:
    """Of one run: `tokens` of the tool part of a request, the same in each of its `requests`; `conversation` beside it."""

    wire: str
    tools: int
    deferred: bool
    tokens: int
    requests: int
    same_in_all: bool
    conversation: int
    ran: list[str]
    violations: int


def many(count: int, ran: list[str]) -> list[Tool]:
    """Tools as servers describe them, each with a few parameters, and one that is always in the list."""

    def tool(name: str, description: str, *, deferred: bool) -> Tool:
        text = {"type": "string", "description": "As it was told by another tool, or by the user."}
        limit = {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many to give at most."}
        schema = {"type": "object", "properties": {"id": text, "title": text, "limit": limit}, "required": ["id"]}

        def invoke(arguments: Any, _: Any) -> str:
            ran.append(f"{name} {arguments['id']}")
            return "done"

        return Tool(ToolSpec(name, description, schema), SafetyTier.SAFE, invoke, deferred=deferred)

    pairs = ((verb, thing) for thing in THINGS for verb in VERBS)
    found = [
        tool(
            f"{verb}_{thing}",
            f"Lets you {verb} a {thing} of the current account, by its id. It takes effect at once.",
            deferred=True,
        )
        for verb, thing in pairs
    ]
    return [tool("now", "The time of day.", deferred=False), *found[: count - 1]]


SCRIPT: Final = (
    calls((SEARCH, {"query": f"create a {WANTED}"})),
    calls((SEARCH, {"name": f"create_{WANTED}", "arguments": {"id": "r-1"}})),
    says("It is paid back."),
)
DIRECT: Final = (calls((f"create_{WANTED}", {"id": "r-1"})), says("It is paid back."))


async def measured(wire: WireName, count: int, *, deferred: bool) -> Figures:
    ran: list[str] = []
    async with running(Emulator(SCRIPT if deferred else DIRECT, refuse=False)) as server:
        lab = geode.Provider("lab", wire=wire, base_url=f"{server.base_url}{PATHS[wire]}")
        policy = Policy(defer_above=16 if deferred else None)
        # A server that takes fewer tools than these refuses the list without deferral.
        tools = many(count if deferred or wire == "messages" else min(count, 127), ran)
        async with geode.session(model="lab/m", providers=[lab], tools=tools, policy=policy) as loop:
            outcome = await loop.run("Pay r-1 back.")
    assert isinstance(outcome, geode.Answered), outcome
    return _figures(wire, len(tools), deferred, server.emulator, ran)


def _figures(wire: WireName, count: int, deferred: bool, emulator: Emulator, ran: list[str]) -> Figures:
    bodies = [received.request for received in emulator.received]
    parts = [_written(body["tools"]) for body in bodies]
    said = "input" if wire == "responses" else "messages"
    conversation = estimate_tokens(_written(bodies[-1][said])) - estimate_tokens(_written(bodies[0][said]))
    same, tokens = len(set(parts)) == 1, max(map(estimate_tokens, parts))
    return Figures(wire, count, deferred, tokens, len(bodies), same, conversation, ran, len(emulator.violations))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.many_tools", description=__doc__)
    parser.add_argument("--tools", type=int, default=500, help="how many tools (default: %(default)s)")
    count = parser.parse_args(given).tools
    runs = [asyncio.run(measured(wire, count, deferred=deferred)) for wire in PATHS for deferred in (False, True)]
    for one in runs:
        print(f"{one.wire:10} {one.tools} tools, {'deferred' if one.deferred else 'all in the list'}: {one.tokens} tokens")
    wrong = [
        f"{one.wire}: {one.tokens} tokens, {one.ran}"
        for one in runs
        if one.deferred and not (one.tokens <= MOST_TOKENS and one.same_in_all and one.ran == ["create_refund r-1"])
    ]
    found = {"commit": commit(), "python": platform.python_version(), "most_tokens": MOST_TOKENS, "wrong": wrong}
    text = json.dumps({**found, "runs": [asdict(one) for one in runs]}, indent=2)
    (EVIDENCE / "deferred_tools.json").write_text(f"{text}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
