"""Runs with long results: tools that give some, a model whose script says `REF` for the id of the last, stores that fail."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from returns.result import Result

import geode
from geode.adapters.results_memory import MemoryResults
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.failures import CallFailure
from geode.domain.offload import ResultLimits
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest
from geode.domain.script import Reply, Step, calls
from geode.ports.events import Notice
from geode.ports.model import Emit
from geode.ports.results import Origin, Piece, ResultStore
from geode.ports.tools import ToolContext, ToolError
from tests.unit.application.rig import Recorder, answered, results

REF: Final = "REF"
# Where the last search has found its last match.
AT: Final = "AT"


def recalls(**arguments: Any) -> Reply:
    return calls(("recall_tool_result", {"ref_id": REF, **arguments}))


class Reader(ScriptedModel):
    """The model."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        results = list(request.conversation.results())
        refs = [result.ref_id for result in results if result.ref_id]
        places = [place for result in results for place in re.findall(r"^--- at (\d+)$", result.text, re.MULTILINE)]
        said: dict[object, Any] = {REF: refs[-1] if refs else REF, AT: int(places[-1]) if places else 0}
        return (await super().acomplete(request, emit)).map(lambda reply: _with(reply, said))


def _with(reply: AdapterCallResult, known: Mapping[object, Any]) -> AdapterCallResult:
    def said(item: Any) -> Any:
        if not isinstance(item, ToolUseBlock):
            return item
        return replace(item, input={name: known.get(value, value) for name, value in item.input.items()})

    return replace(reply, items=tuple(said(item) for item in reply.items))


class Failing(MemoryResults):
    """A store that raises `error` where `at` says so."""

    def __init__(self, error: BaseException, at: str = "put") -> None:
        super().__init__()
        self._error, self._at = error, at

    def _fail(self, at: str) -> None:
        if at == self._at:
            raise self._error

    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
        self._fail("put")
        await super().put(ref_id, text, origin, expires_at)

    async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Piece:
        self._fail("read")
        return await super().read(ref_id, offset, limit)

    async def expire(self, ref_id: str, expires_at: float | None) -> None:
        self._fail("expire")
        await super().expire(ref_id, expires_at)

    async def delete(self, ref_ids: Collection[str]) -> None:
        self._fail("delete")
        await super().delete(ref_ids)

    async def sweep(self) -> int:
        self._fail("sweep")
        return await super().sweep()


class Slow(MemoryResults):
    """A store whose `put` waits until it is let go on; `began` says that it is at it."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
        self.began.set()
        await self.go_on.wait()
        await super().put(ref_id, text, origin, expires_at)


LINES = "".join(f"line {number}\n" for number in range(20_000))
LIMITS = ResultLimits(offload_tokens=1_000, cut_tokens=2_000)


class Tools:
    """Give `text` back, in several ways."""

    def __init__(self, text: str = LINES) -> None:
        self.text = text
        self.read: list[str] = []

    @geode.tool(tier="safe", blocking=False)
    def log(self) -> str:
        return self.text

    @geode.tool(tier="safe", blocking=False)
    def broken(self) -> str:
        raise ToolError(self.text)

    @geode.tool(tier="safe")
    async def count(self, ref_id: str, ctx: ToolContext[None]) -> int:
        return len(await ctx.results.text(ref_id))

    @geode.tool(tier="safe", blocking=True)
    def count_in_a_thread(self, ref_id: str, ctx: ToolContext[None]) -> int:
        return len(ctx.results.text_now(ref_id))

    @geode.tool(tier="safe", blocking=False)
    def count_on_the_loop(self, ref_id: str, ctx: ToolContext[None]) -> int:
        return len(ctx.results.text_now(ref_id))

    @property
    def all(self) -> list[Any]:
        return [self.log, self.broken, self.count, self.count_in_a_thread, self.count_on_the_loop]


async def run(
    *steps: Step, tools: Tools | None = None, store: ResultStore | None = None, policy: Policy | None = None, **settings: Any
) -> tuple[list[ToolResult], list[Notice]]:
    """The results of a run over a store, and what the operator was told of them."""
    seen = Recorder()
    settings = {"policy": policy or Policy(result_limits=LIMITS), "results": store or MemoryResults(), **settings}
    outcome = await geode.run("go", model=Reader(*steps), tools=(tools or Tools()).all, observe=seen, **settings)
    return results(answered(outcome)), [one for one in seen.of(Notice) if one.kind in ("offload", "result_cut", "store_failed")]


def places(found: ToolResult) -> list[int]:
    """Where a search has found something."""
    return [int(at) for at in re.findall(r"^--- at (\d+)$", found.text, re.MULTILINE)]


def kinds(notices: Sequence[Notice]) -> list[str]:
    return [notice.kind for notice in notices]
