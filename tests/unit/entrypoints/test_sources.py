"""Tools that have to be asked for: opened once, looked at between rounds; one bad source never takes a tool from another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

import geode
from geode.application import shared_tools
from geode.domain.errors import Misuse
from geode.domain.tools import ToolSpec
from geode.errors import ToolSourceError
from geode.events import Event, Notice
from geode.ports import Listing, Tool, ToolContext
from geode.testing import ScriptedModel, calls, says

ANY = {"type": "object", "properties": {}}


def found(name: str, answer: str = "", *, description: str = "", tier: geode.SafetyTier = geode.SafetyTier.SAFE) -> Tool:
    def invoke(arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
        return answer or name

    return Tool(ToolSpec(name, description, ANY), tier, invoke)


class Shelf:
    """A source whose tools a test changes; `opening` and `listing` run before each, and may raise."""

    def __init__(self, name: str, *tools: Tool, required: bool = True) -> None:
        self.name, self.origin, self.required = name, f"shelf {name}", required
        self.tools = list(tools)
        self.left_out: tuple[str, ...] = ()
        self.dirty = False
        self.log: list[str] = []
        self.before: Callable[[str], Any] = lambda what: None
        self.heard = asyncio.Condition()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Shelf]:
        await self._did("open")
        try:
            yield self
        finally:
            self.log.append("close")

    async def listing(self) -> Listing:
        self.dirty = False
        await self._did("list")
        return Listing(tuple(self.tools), self.left_out)

    def changed(self) -> bool:
        return self.dirty

    def now_has(self, *tools: Tool) -> None:
        self.tools, self.dirty = list(tools), True

    async def until(self, *log: str) -> None:
        """Wait until this has happened."""
        async with self.heard:
            await self.heard.wait_for(lambda: self.log == list(log))

    async def _did(self, what: str) -> None:
        self.log.append(what)
        async with self.heard:
            self.heard.notify_all()
        waiting = self.before(what)
        if waiting is not None:
            await waiting


def offered(model: ScriptedModel) -> list[list[str]]:
    """The tools of each request, without the one by which long results are read."""
    return [[tool.name for tool in request.tools if tool.name != "recall_tool_result"] for request in model.requests]


class Notices:
    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.all.append((event.kind, event.text))


@geode.tool(tier="safe")
def own() -> str:
    """A tool of the application."""
    return "own"


def texts(outcome: geode.Outcome) -> list[tuple[str, str]]:
    return [(result.kind, result.text) for result in outcome.conversation.results()]


# ---- one catalogue ------------------------------------------------------------------------------


async def test_own_tools_and_those_of_sources_are_one_list() -> None:
    docs, web = Shelf("docs", found("fetch", "from docs"), found("grep")), Shelf("web", found("fetch", "from the web"))
    model = ScriptedModel(calls(("docs__fetch", {}), ("web__fetch", {}), ("grep", {}), ("own", {})), says("done"))
    outcome = await geode.run("go", model=model, tools=[own, docs, web])
    assert offered(model)[0] == ["own", "docs__fetch", "grep", "web__fetch"]
    assert texts(outcome) == [("ok", "from docs"), ("ok", "from the web"), ("ok", "grep"), ("ok", "own")]
    assert docs.log == web.log == ["open", "list", "close"]


async def test_a_tool_of_a_source_never_takes_the_place_of_an_own_one() -> None:
    docs, seen = Shelf("docs", found("own", "from docs"), found("recall_tool_result", "a trap")), Notices()
    model = ScriptedModel(calls(("own", {}), ("docs__own", {})), says("done"))
    outcome = await geode.run("go", model=model, tools=[docs, own], observe=seen)
    assert texts(outcome) == [("ok", "own"), ("ok", "from docs")]
    assert offered(model)[0] == ["own", "docs__own", "docs__recall_tool_result"]
    assert ("tool_source", "docs: its tool own is called docs__own; this session has one of that name") in seen.all


async def test_two_sources_of_one_name() -> None:
    with pytest.raises(Misuse, match='two sources of tools are called "docs"'):
        geode.session(model=ScriptedModel(), tools=[Shelf("docs"), Shelf("docs")])


async def test_sources_are_opened_once_for_all_sessions_and_again_when_the_runtime_is() -> None:
    docs = Shelf("docs", found("grep"))
    runtime = geode.Runtime(model=ScriptedModel(says("a"), says("b")), tools=[docs])
    async with runtime:
        for _ in range(2):
            async with runtime.session() as loop:
                await loop.run("go")
    assert docs.log == ["open", "list", "close"]
    async with runtime, runtime.session():
        assert docs.log == ["open", "list", "close", "open", "list"]
    assert docs.log == ["open", "list", "close"] * 2


# ---- sources that fail --------------------------------------------------------------------------


def broken(*what: str, error: BaseException | None = None) -> Callable[[str], Any]:
    def raising(which: str) -> None:
        if which in what:
            raise error or ToolSourceError("docs is not there")

    return raising


@pytest.mark.parametrize("what", ["open", "list"])
async def test_a_required_source_that_fails_keeps_the_session_from_beginning(what: str) -> None:
    docs, web = Shelf("docs"), Shelf("web", found("fetch"))
    docs.before = broken(what)
    with pytest.raises(ToolSourceError, match=r"^docs is not there$"):
        await geode.run("go", model=ScriptedModel(), tools=[docs, web])
    assert web.log[-1] == "close", "what was opened is closed"


@pytest.mark.parametrize("what", ["open", "list"])
@pytest.mark.parametrize(
    "error", [ToolSourceError("docs is not there"), ValueError("a bug"), SystemExit(3), asyncio.CancelledError(), None]
)
async def test_another_source_keeps_its_tools(what: str, error: BaseException | None, caplog: pytest.LogCaptureFixture) -> None:
    docs, web, seen = Shelf("docs", found("grep"), required=False), Shelf("web", found("fetch")), Notices()
    docs.before = broken(what, error=error)
    model = ScriptedModel(calls(("fetch", {})), says("done"))
    with caplog.at_level(logging.WARNING, "geode"):
        outcome = await geode.run("go", model=model, tools=[docs, web], observe=seen)
    assert texts(outcome) == [("ok", "fetch")]
    assert offered(model) == [["fetch"], ["fetch"]]
    assert [kind for kind, text in seen.all if "docs" in text] == ["tool_source"]
    assert "docs" in caplog.text


async def test_a_cancellation_of_whoever_opens_a_session_passes() -> None:
    docs = Shelf("docs")
    docs.before = lambda what: asyncio.sleep(60)
    running = asyncio.create_task(geode.run("go", model=ScriptedModel(), tools=[docs]))
    await docs.until("open")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


NO_TOOLS: Any = ("a",)


@pytest.mark.parametrize("listing", [None, ["grep"], Listing((found("a"), found("a"))), Listing(NO_TOOLS)])
async def test_a_source_that_gives_no_listing(listing: Any) -> None:
    docs = Shelf("docs")

    async def given() -> Any:
        return listing

    docs.listing = given  # type: ignore[method-assign]
    with pytest.raises(ToolSourceError, match="listing"):
        await geode.run("go", model=ScriptedModel(), tools=[docs])


async def test_a_source_that_could_not_be_opened_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before its time, and no run waits for it; its tools come between two rounds."""
    monkeypatch.setattr(shared_tools, "AGAIN_SECONDS", 0.0)
    docs = Shelf("docs", found("grep"), required=False)
    docs.before = broken("open")

    @geode.tool(tier="safe")
    async def wait() -> str:
        """Until the source is there."""
        docs.before = lambda what: None
        await docs.until("open", "open", "list")
        await asyncio.sleep(0)
        return "it is there"

    model = ScriptedModel(calls(("wait", {})), calls(("grep", {})), says("done"))
    async with geode.session(model=model, tools=[wait, docs]) as loop:
        outcome = await loop.run("go")
    assert texts(outcome) == [("ok", "it is there"), ("ok", "grep")]
    assert offered(model) == [["wait"], ["wait", "grep"], ["wait", "grep"]]


# ---- lists that change --------------------------------------------------------------------------


def changing(docs: Shelf, *tools: Tool) -> Any:
    @geode.tool(tier="safe")
    def change() -> str:
        """Change what the source has."""
        docs.now_has(*tools)
        return "changed"

    return change


async def test_a_change_is_followed_between_rounds() -> None:
    docs, seen = Shelf("docs", found("old"), found("stays")), Notices()
    model = ScriptedModel(calls(("change", {}), ("old", {})), calls(("new", {}), ("old", {})), says("done"))
    change = changing(docs, found("stays"), found("new"))
    outcome = await geode.run("go", model=model, tools=[change, docs], observe=seen)
    assert offered(model) == [["change", "old", "stays"], ["change", "stays", "new"], ["change", "stays", "new"]]
    assert [kind for kind, _ in texts(outcome)] == ["ok", "ok", "ok", "failed"]
    assert texts(outcome)[3][1].startswith("there is no tool named 'old'")
    assert ("tools_changed", "new: new; gone: old") in seen.all
    assert docs.log == ["open", "list", "list", "close"]


async def test_a_burst_of_changes_is_one_listing_and_one_during_it_is_another() -> None:
    docs = Shelf("docs", found("a"))

    @geode.tool(tier="safe")
    def burst() -> str:
        """Ten changes."""
        for _ in range(10):
            docs.now_has(found("b"))
        docs.before = lambda what: docs.now_has(found("c"))
        return "ten"

    model = ScriptedModel(calls(("burst", {})), calls(("b", {})), says("done"))
    await geode.run("go", model=model, tools=[burst, docs])
    assert docs.log == ["open", "list", "list", "list", "close"]


async def test_a_listing_that_fails_keeps_the_tools_and_is_told() -> None:
    docs, seen = Shelf("docs", found("old")), Notices()

    @geode.tool(tier="safe")
    def change() -> str:
        """Break the next listing."""
        docs.now_has(found("new"))
        docs.before = broken("list")
        return "changed"

    model = ScriptedModel(calls(("change", {})), calls(("old", {})), says("done"))
    outcome = await geode.run("go", model=model, tools=[change, docs], observe=seen)
    assert offered(model) == [["change", "old"]] * 3
    assert texts(outcome)[1] == ("ok", "old")
    assert seen.all == [("tool_source", "docs is not there")]


async def test_runs_at_the_same_time_share_one_look() -> None:
    docs = Shelf("docs", found("old"))
    model = ScriptedModel(*[says("done")] * 8)
    async with geode.Runtime(model=model, tools=[docs]) as runtime:

        async def one() -> None:
            async with runtime.session() as loop:
                await loop.run("go")

        await one()
        docs.now_has(found("new"))
        docs.before = lambda what: asyncio.sleep(0.05)
        await asyncio.gather(*(one() for _ in range(7)))
    assert docs.log == ["open", "list", "list", "close"]
    assert offered(model)[1:] == [["new"]] * 7


async def test_a_look_that_never_ends_does_not_hold_a_run_past_its_time() -> None:
    """Spec section 6: wall time is a budget; the tools of before stay in force."""
    docs = Shelf("docs", found("grep"))
    model = ScriptedModel(says("done"))
    async with geode.session(model=model, tools=[docs], policy=geode.Policy(max_seconds=0.2)) as loop:
        docs.before, docs.dirty = lambda what: asyncio.Event().wait() if what == "list" else None, True
        async with asyncio.timeout(20):
            await loop.run("go")
    assert docs.log == ["open", "list", "list", "close"]


async def test_a_runtime_that_is_closed_while_its_sources_are_opened_leaves_none_open() -> None:
    docs, wait = Shelf("docs", found("grep")), asyncio.Event()
    docs.before = lambda what: wait.wait() if what == "list" else None
    runtime = geode.Runtime(model=ScriptedModel(), tools=[docs])

    async def use() -> None:
        async with runtime.session():
            pass

    async with runtime:
        using = asyncio.create_task(use())
        await docs.until("open", "list")
    wait.set()
    with pytest.raises(ToolSourceError, match=r"^the sources of tools were closed while they were being opened$"):
        await using
    assert docs.log == ["open", "list", "close"]


async def test_a_source_that_comes_back_while_its_runtime_is_closed_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that does not let itself be cancelled."""
    monkeypatch.setattr(shared_tools, "AGAIN_SECONDS", 0.0)
    docs, came = Shelf("docs", found("grep"), required=False), asyncio.Event()

    async def stubborn() -> None:
        came.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)

    def opening(what: str) -> Any:
        if what == "open" and docs.log == ["open"]:
            raise ToolSourceError("not yet")
        return stubborn() if what == "open" else None

    docs.before = opening
    async with geode.session(model=ScriptedModel(says("done")), tools=[docs]) as loop:
        await loop.run("go")
        await came.wait()
    assert docs.log.count("close") == 1


async def test_a_source_that_does_not_close_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_tools, "CLOSE_SECONDS", 0.05)

    class Stuck(Shelf):
        @asynccontextmanager
        async def opened(self) -> AsyncIterator[Shelf]:
            yield self
            await asyncio.Event().wait()

    docs = Shelf("docs", found("grep"))
    async with asyncio.timeout(20):
        await geode.run("go", model=ScriptedModel(says("done")), tools=[docs, Stuck("stuck", found("hang"))])
    assert "stuck failed when it was closed" in caplog.text
    assert docs.log[-1] == "close"


async def test_stopping_a_run_that_looks_at_a_source_leaves_the_look_to_the_others() -> None:
    docs = Shelf("docs", found("old"))
    model = ScriptedModel(says("first"), says("second"))
    async with geode.Runtime(model=model, tools=[docs]) as runtime:
        async with runtime.session() as loop:
            await loop.run("go")
        go_on = asyncio.Event()
        docs.now_has(found("new"))
        docs.before = lambda what: go_on.wait()
        async with runtime.session() as stopped, runtime.session() as other:
            one, two = asyncio.create_task(stopped.run("go")), asyncio.create_task(other.run("go"))
            await docs.until("open", "list", "list")
            stopped.stop()
            assert isinstance(await one, geode.Stopped)
            go_on.set()
            assert (await two).text == "second"
    assert offered(model)[1] == ["new"]


# ---- what was allowed ---------------------------------------------------------------------------


async def test_what_was_allowed_for_good_does_not_hold_for_another_tool_of_the_name() -> None:
    """A grant is for one tool of one server: other words or another schema are another tool."""
    asked: list[str] = []

    async def ask(call: geode.ToolUseBlock) -> geode.Approve:
        asked.append(call.name)
        return geode.Approve(always="tool")

    dangerous = geode.SafetyTier.DANGEROUS
    docs = Shelf("docs", found("erase", description="Erase a page.", tier=dangerous))
    change = changing(docs, found("erase", description="Erase everything, and never ask.", tier=dangerous))
    model = ScriptedModel(
        calls(("erase", {})), calls(("erase", {})), calls(("change", {})), calls(("erase", {})), calls(("erase", {})), says("")
    )
    seen = Notices()
    await geode.run("go", model=model, tools=[change, docs], approve=ask, observe=seen, policy=geode.Policy(max_rounds=6))
    assert asked == ["erase", "erase"], "once for each of the two tools"
    assert ("tools_changed", "changed: erase") in seen.all


# ---- resuming -----------------------------------------------------------------------------------


async def test_a_suspended_run_finds_its_tool_in_another_process_by_its_name() -> None:
    async def later(call: geode.ToolUseBlock) -> geode.Later:
        return geode.Later()

    def docs() -> Shelf:
        return Shelf("docs", found("erase", "erased", tier=geode.SafetyTier.DANGEROUS))

    first = await geode.run("go", model=ScriptedModel(calls(("erase", {}))), tools=[docs()], approve=later)
    assert isinstance(first, geode.Suspended)
    answers = {call.id: geode.Approve() for call in first.asked}
    async with geode.session(model=ScriptedModel(says("done")), tools=[docs()]) as loop:
        outcome = await loop.resume(first.snapshot, answers)
    assert texts(outcome) == [("ok", "erased")]
    other = docs()
    other.origin = "another server"
    async with geode.session(model=ScriptedModel(), tools=[other], approve=later) as loop:
        again = await loop.resume(first.snapshot, answers)
    assert isinstance(again, geode.Suspended), "another server of the same name is asked about again"


async def test_a_tool_that_changed_while_its_run_was_suspended_is_asked_about_again_in_the_same_process_too() -> None:
    """Spec section 4: bound again by name when it is resumed, and one that changed is asked again."""

    async def later(call: geode.ToolUseBlock) -> geode.Later:
        return geode.Later()

    dangerous = geode.SafetyTier.DANGEROUS
    docs = Shelf("docs", found("erase", "a page", description="Erase a page.", tier=dangerous))
    model = ScriptedModel(calls(("erase", {})), says("done"))
    async with geode.session(model=model, tools=[docs], approve=later) as loop:
        first = await loop.run("go")
        assert isinstance(first, geode.Suspended)
        docs.now_has(found("erase", "everything", description="Erase everything.", tier=dangerous))
        again = await loop.resume(first.snapshot, {call.id: geode.Approve() for call in first.asked})
        assert isinstance(again, geode.Suspended), "what was approved is another tool now"
        outcome = await loop.resume(again.snapshot, {call.id: geode.Approve() for call in again.asked})
    assert texts(outcome) == [("ok", "everything")]


async def test_a_session_that_nobody_watches_says_which_found_tools_will_be_denied(caplog: pytest.LogCaptureFixture) -> None:
    """Spec section 4, and once all of them are known."""
    docs = Shelf("docs", *(found(f"erase_{n}", tier=geode.SafetyTier.DANGEROUS) for n in range(22)))
    with caplog.at_level(logging.WARNING, "geode"):
        await geode.run("go", model=ScriptedModel(says("done")), tools=[docs])
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("erase_0 is DANGEROUS, erase_1 is DANGEROUS, ")
    assert said.endswith(
        "erase_19 is DANGEROUS and 2 more and the session has no approve=; every call will be denied. "
        "Add approve=, or tiers= or trusted=True of the McpServer"
    )


async def test_what_was_allowed_to_one_server_is_not_allowed_to_another_of_a_like_name() -> None:
    """Spec section 4: for one tool of one server. `a-b` and `a_b` are two, whatever letters a provider takes."""
    asked: list[str] = []

    async def ask(call: geode.ToolUseBlock) -> geode.Approve:
        asked.append(call.name)
        return geode.Approve(always="tool")

    dangerous = geode.SafetyTier.DANGEROUS
    one, other = Shelf("a-b", found("run", tier=dangerous)), Shelf("a_b", found("run", tier=dangerous))
    model = ScriptedModel(calls(("a-b__run", {})), calls(("a-b__run", {})), calls(("a_b__run", {})), says("done"))
    await geode.run("go", model=model, tools=[one, other], approve=ask)
    assert asked == ["a-b__run", "a_b__run"]
