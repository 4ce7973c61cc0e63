"""What becomes of long results in a run: kept and summarised, or cut; recalled; and gone when the session is over."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.results_memory import MemoryResults
from geode.domain.content import Text, ToolResult
from geode.domain.errors import Misuse
from geode.domain.offload import RECALL, Remedy, ResultLimits, is_ref, new_ref
from geode.domain.policy import Policy
from geode.domain.script import calls, says
from geode.domain.tokens import estimate_tokens
from geode.ports.hooks import Hooks, Veto
from geode.ports.results import Origin, StoreFull
from tests.unit.application.recalls import LIMITS, LINES, Failing, Reader, Slow, Tools, kinds, recalls, run
from tests.unit.application.rig import answered, assert_whole, results

# ---- kept ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "kind"), [("log", "ok"), ("broken", "failed")])
async def test_a_long_result_is_kept_and_the_model_reads_a_summary(tool: str, kind: str) -> None:
    (found,), (notice,) = await run(calls((tool, {})), says("done"))
    assert (found.kind, is_ref(found.ref_id)) == (kind, True)
    assert f"kept whole as {found.ref_id}: {len(LINES)} characters" in found.text
    assert estimate_tokens(found.text) < 200
    assert (notice.kind, found.ref_id in notice.text, tool in notice.text) == ("offload", True, True)


async def test_a_short_result_stays_as_it_is() -> None:
    (found,), notices = await run(calls(("log", {})), says("done"), tools=Tools("short"))
    assert (found.text, found.ref_id, notices) == ("short", "", [])


async def test_what_was_kept_is_gone_when_the_session_is_over() -> None:
    store, kept = MemoryResults(), list[int]()
    async with geode.session(
        model=Reader(calls(("log", {})), says("a"), calls(("log", {})), says("b")),
        tools=Tools().all,
        results=store,
        policy=Policy(result_limits=LIMITS),
    ) as loop:
        for _ in range(2):
            await loop.run("go")
            kept.append(len(store.ref_ids))
    assert (kept, len(store.ref_ids)) == ([1, 2], 0)


async def test_the_same_when_the_run_was_cancelled_or_broke() -> None:
    store = MemoryResults()
    with pytest.raises(AssertionError, match="the script has 1 steps"):
        await run(calls(("log", {})), store=store)
    assert len(store.ref_ids) == 0


async def test_a_later_run_of_the_session_reads_what_an_earlier_one_kept() -> None:
    model = Reader(calls(("log", {})), says("a"), recalls(offset=5, limit=10), says("b"))
    async with geode.session(model=model, tools=Tools().all, policy=Policy(result_limits=LIMITS)) as loop:
        first = await loop.run("go")
        second = await loop.run("go on", conversation=first.conversation)
    assert results(second)[-1].text.endswith(":\n" + LINES[5:15])


async def test_after_the_hook_has_seen_all_of_it() -> None:
    seen: list[int] = []

    def after(call: Any, came: ToolResult) -> None:
        seen.append(len(came.text))

    (found,), _ = await run(calls(("log", {})), says("done"), hooks=Hooks(after_result=after))
    assert (seen, bool(found.ref_id)) == ([len(LINES)], True)


async def test_what_a_hook_makes_long_is_kept_too() -> None:
    def after(call: Any, came: ToolResult) -> ToolResult:
        return ToolResult(came.call_id, "ok", (Text(LINES),))

    (found,), _ = await run(calls(("log", {})), says("done"), tools=Tools("short"), hooks=Hooks(after_result=after))
    assert found.ref_id


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [(ResultLimits(remedy="cut", cut_tokens=500), 500), (ResultLimits(remedy="keep"), estimate_tokens(LINES))],
)
async def test_the_session_decides_for_each_tool(limits: ResultLimits, tokens: int) -> None:
    policy = Policy(result_limits=LIMITS, result_limits_of={"log": limits})
    (found, other), notices = await run(calls(("log", {}), ("broken", {})), says("done"), policy=policy)
    assert (found.ref_id, tokens * 0.9 < estimate_tokens(found.text) <= tokens) == ("", True)
    assert other.ref_id
    assert set(kinds(notices)) == {"offload", "result_cut"} if limits.remedy == "cut" else {"offload"}


async def test_where_nothing_is_to_be_kept_there_is_no_tool_to_recall_with() -> None:
    model = Reader(calls(("log", {})), says("done"))
    policy = Policy(result_limits=ResultLimits(remedy="cut", cut_tokens=500))
    outcome = answered(await geode.run("go", model=model, tools=[Tools().log], policy=policy))
    assert [tool.name for tool in model.requests[0].tools] == ["log"]
    assert estimate_tokens(results(outcome)[0].text) <= 500


async def test_the_tool_to_recall_with_is_there_from_the_start_so_that_the_list_never_changes() -> None:
    model = Reader(calls(("log", {})), recalls(), says("done"))
    await geode.run("go", model=model, tools=[Tools().log], policy=Policy(result_limits=LIMITS))
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["log", RECALL]] * 3
    assert model.requests[0].tools[1] is model.requests[2].tools[1]


async def test_a_session_without_tools_has_none_either() -> None:
    model = Reader(says("done"))
    await geode.run("go", model=model)
    assert model.requests[0].tools == ()


async def test_a_counter_of_the_application_is_asked() -> None:
    (found,), _ = await run(calls(("log", {})), says("done"), tools=Tools("x" * 999), count_tokens=len)
    assert found.ref_id == ""
    (found,), _ = await run(calls(("log", {})), says("done"), tools=Tools("x" * 1_001), count_tokens=len)
    assert len(found.text) <= 1_000
    assert found.ref_id


@pytest.mark.parametrize("counted", ["many", -1, None, RuntimeError("no")])
async def test_a_counter_that_breaks_is_replaced_by_the_estimate(counted: Any) -> None:
    def count(text: str) -> int:
        if isinstance(counted, Exception):
            raise counted
        found: int = counted
        return found

    (found,), _ = await run(calls(("log", {})), says("done"), count_tokens=count)
    assert found.ref_id


@pytest.mark.parametrize(
    ("settings", "id"),
    [
        ({"results": 7}, "results-type"),
        ({"count_tokens": 7}, "count-tokens-type"),
        ({"policy": Policy(result_limits_of={"lok": LIMITS})}, "result-limits"),
    ],
)
def test_settings_that_are_none(settings: dict[str, Any], id: str) -> None:
    with pytest.raises(Misuse) as caught:
        geode.session(model=Reader(), tools=[Tools().log], **settings)
    assert caught.value.id == id


def test_a_tool_of_that_name_is_refused_with_two_ways_out() -> None:
    tool = geode.tool(tier="safe", name=RECALL)(lambda: "mine")
    with pytest.raises(Misuse, match=r"two tools are called .recall_tool_result.*Rename yours, or have results cut") as caught:
        geode.session(model=Reader(), tools=[tool])
    assert caught.value.id == "tool-twice"
    geode.session(model=Reader(), tools=[tool], policy=Policy(result_limits=ResultLimits(remedy="cut")))


# ---- stores that fail --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EROFS, os.strerror(errno.EROFS)),
        StoreFull(9, 1, "the store"),
        asyncio.CancelledError(),
        SystemExit(1),
        MemoryError(),
    ],
)
async def test_a_store_that_fails_is_noticed_and_the_tool_has_not_failed(error: BaseException) -> None:
    (found,), notices = await run(calls(("log", {})), says("done"), store=Failing(error))
    assert (found.kind, found.ref_id) == ("ok", "")
    assert 1_800 < estimate_tokens(found.text) <= 2_000
    assert "r_" not in found.text
    assert kinds(notices) == ["store_failed", "result_cut"]


class Hanging(MemoryResults):
    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
        await asyncio.Event().wait()


async def test_a_store_that_does_not_answer_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode.application.shelf.STORE_SECONDS", 0.05)
    (found,), notices = await run(calls(("log", {})), says("done"), store=Hanging())
    assert (found.kind, found.ref_id, kinds(notices)) == ("ok", "", ["store_failed", "result_cut"])
    assert "TimeoutError: it did not answer within 0.05 s" in notices[0].text


async def test_what_is_short_enough_to_be_shown_stays_whole_where_the_store_fails() -> None:
    (found,), notices = await run(calls(("log", {})), says("done"), tools=Tools("x" * 6_000), store=Failing(OSError("no")))
    assert (found.text, kinds(notices)) == ("x" * 6_000, ["store_failed"])


class Nonsense(MemoryResults):
    async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Any:
        return "secret path"


@pytest.mark.parametrize(
    "store",
    [Failing(OSError("secret path"), "read"), Failing(SystemExit("secret path"), "read"), Nonsense()],
    ids=["raises", "exits", "gives something else"],
)
async def test_a_store_that_cannot_be_read_is_an_error_to_the_model(store: MemoryResults) -> None:
    (_, found), _ = await run(calls(("log", {})), recalls(), says("done"), store=store)
    assert (found.kind, found.text.endswith("could not be read: the store failed"), "secret" in found.text) == (
        "failed",
        True,
        False,
    )


@pytest.mark.parametrize("at", ["sweep", "delete"])
async def test_a_store_that_cannot_tidy_up_keeps_nobody_from_going_on(at: str) -> None:
    (found,), _ = await run(calls(("log", {})), says("done"), store=Failing(OSError("no"), at))
    assert found.ref_id


async def test_what_is_no_store_any_more_does_not_hold_a_cancelled_run() -> None:
    """The result of a call that has ended is told, cut, although the store is still at it."""
    store = Slow()
    async with geode.session(
        model=Reader(calls(("log", {}))), tools=Tools().all, results=store, policy=Policy(result_limits=LIMITS)
    ) as loop:
        running = asyncio.create_task(loop.run("go"))
        await store.began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert_whole(loop.conversation)
        (found,) = results(loop.conversation)
    assert (found.kind, found.ref_id, found.text.startswith("line 0\n")) == ("ok", "", True)
    assert estimate_tokens(found.text) <= 2_000
    assert len(store.ref_ids) == 0


async def test_the_loop_goes_on_while_a_result_is_stored() -> None:
    store, ran = Slow(), list[str]()

    @geode.tool(tier="safe", blocking=False)
    def other() -> str:
        ran.append("other")
        store.go_on.set()
        return "short"

    @geode.tool(tier="safe")
    async def later() -> str:
        await store.began.wait()
        return other()

    async with geode.session(
        model=Reader(calls(("log", {}), ("later", {})), says("a")),
        tools=[Tools().log, later],
        results=store,
        policy=Policy(result_limits=LIMITS),
    ) as loop:
        found = results(await loop.run("go"))
    assert (ran, bool(found[0].ref_id), found[1].text) == (["other"], True, "short")


# ---- a session that lives long -------------------------------------------------------------------


async def test_what_has_expired_makes_room_for_what_comes() -> None:
    clock = ManualClock()
    store = MemoryResults(max_bytes=3 * len(LINES), now=clock.now)
    steps = [step for _ in range(9) for step in (calls(("log", {})), says("done"))]
    kept: list[int] = []
    async with geode.session(
        model=Reader(*steps), tools=[Tools().log], policy=Policy(result_limits=LIMITS), results=store, clock=clock
    ) as loop:
        for _ in range(9):
            (found,) = results(answered(await loop.run("go")))
            assert found.ref_id in store.ref_ids
            kept.append(len(store.ref_ids))
            clock.advance(4 * 3_600)
    assert max(kept) == 1


async def test_a_store_that_is_full_is_swept() -> None:
    clock = ManualClock()
    store = MemoryResults(max_bytes=3 * len(LINES), now=clock.now)
    steps = (calls(("log", {})), says("done"), calls(("log", {})), says("done"))
    settings: dict[str, Any] = {"policy": Policy(result_limits=LIMITS), "results": store, "clock": clock}
    async with geode.session(model=Reader(*steps), tools=[Tools().log], **settings) as loop:
        (first,) = results(answered(await loop.run("go")))
        # Of another session, and gone before this one would look.
        await store.put(new_ref(bytes(16)), "x" * int(1.9 * len(LINES)), Origin("run", "log", "c1"), clock.now() + 60)
        clock.advance(60)
        (second,) = results(answered(await loop.run("go")))
        assert store.ref_ids == {first.ref_id, second.ref_id}


# ---- what a person or a hook says ----------------------------------------------------------------


@pytest.mark.parametrize("remedy", ["offload", "cut", "keep"])
@pytest.mark.parametrize("by", ["veto", "person"])
async def test_a_denial_is_guarded_too(by: str, remedy: Remedy) -> None:
    @geode.tool(tier="write", blocking=False)
    def send() -> str:
        return "sent"

    hooks = Hooks(before_tool=lambda call: Veto(LINES)) if by == "veto" else Hooks()
    model = Reader(calls(("send", {})), says("done"))
    policy = Policy(result_limits=ResultLimits(remedy=remedy, cut_tokens=500))
    outcome = await geode.run(
        "go", model=model, tools=[send], hooks=hooks, policy=policy, approve=lambda call: geode.Deny(LINES)
    )
    (found,) = results(answered(outcome))
    assert (found.kind, found.ref_id) == ("denied", "")
    assert found.text.startswith("denied: line 0\nline 1\n")
    if remedy == "keep":
        assert found.text == f"denied: {LINES}"
    else:
        assert "are left out here" in found.text
        assert estimate_tokens(found.flagged_text) <= 500
