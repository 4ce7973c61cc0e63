"""Reading and searching what was too long to show: by the model, and by tools that take its id."""

from __future__ import annotations

import re
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.results_memory import MemoryResults
from geode.domain.offload import RECALL, ResultLimits
from geode.domain.policy import Policy
from geode.domain.script import calls, says
from geode.domain.tokens import estimate_tokens
from tests.unit.application.recalls import LIMITS, LINES, REF, Reader, Tools, kinds, places, recalls, run
from tests.unit.application.rig import results

# ---- recall --------------------------------------------------------------------------------------


async def test_reading_in_parts_gives_the_whole_letter_by_letter() -> None:
    text, offset, steps = "Grüße 世界 🎉\r\n" * 3_000, 0, [calls(("log", {}))]
    while offset < len(text):
        steps.append(recalls(offset=offset, limit=1_500))
        offset += 1_500
    (_, *pieces), notices = await run(*steps, says("done"), tools=Tools(text))
    heads, bodies = zip(*(piece.text.split(":\n", 1) for piece in pieces), strict=True)
    assert "".join(bodies) == text
    assert heads[0] == f"Characters 0 to 1500 of {len(text)}, go on with offset 1500"
    assert heads[-1].endswith(", the end")
    assert kinds(notices) == ["offload"], "what is recalled is never kept again"


async def test_more_than_fits_is_not_given_and_the_model_is_told_where_to_go_on() -> None:
    (_, piece), _ = await run(calls(("log", {})), recalls(limit=10**9), says("done"))
    assert 1_800 < estimate_tokens(piece.text) <= 2_000
    head, _, body = piece.text.partition(":\n")
    assert head == f"Characters 0 to {len(body)} of {len(LINES)}, go on with offset {len(body)}"
    assert LINES.startswith(body)


async def test_a_search_tells_where_each_match_is_and_what_stands_around_it() -> None:
    (_, found), _ = await run(calls(("log", {})), recalls(pattern=r"line 1234\d$"), says("done"))
    first = LINES.index("line 12340")
    assert found.text.startswith(
        f"10 matches up to character {LINES.index(chr(10), LINES.index('line 12349'))} of {len(LINES)}."
    )
    assert [int(at) for at in re.findall(r"^--- at (\d+)$", found.text, re.MULTILINE)] == [
        first + 11 * number for number in range(10)
    ]
    assert LINES[first - 100 : first + 110] in found.text


async def test_a_search_goes_on_from_an_offset_and_says_when_there_may_be_more() -> None:
    at = LINES.index("line 777\n")
    (_, found, none), _ = await run(
        calls(("log", {})), recalls(pattern="line 777", limit=1), recalls(pattern="line 777$", offset=at + 1), says("done")
    )
    assert found.text.startswith(
        f"1 match up to character {at + 8} of {len(LINES)}. There may be more: search on with offset {at + 8}."
    )
    assert none.text == f"No match up to character {len(LINES)} of {len(LINES)}."


async def test_a_search_finds_what_lies_far_behind_and_across_the_pieces_that_it_reads() -> None:
    text = "x" * ((1 << 20) - 3) + "needle" + "y" * (1 << 20) + "needle"
    (_, found), _ = await run(calls(("log", {})), recalls(pattern="needle"), says("done"), tools=Tools(text))
    assert places(found) == [(1 << 20) - 3, 2 * (1 << 20) + 3]


async def test_what_a_search_shows_fits() -> None:
    (_, found), _ = await run(calls(("log", {})), recalls(pattern=r"line", limit=10_000), says("done"))
    assert 1_800 < estimate_tokens(found.text) <= 2_000
    assert f"search on with offset {places(found)[-1] + 4}." in found.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ref_id": ""}, "'' is no ref_id: use one that a result of this conversation has told, as it is"),
        ({"ref_id": "../../etc/passwd"}, "'../../etc/passwd' is no ref_id: use one that"),
        ({"ref_id": "/etc/passwd"}, "'/etc/passwd' is no ref_id: use one that"),
        ({"ref_id": "r_" + "a" * 10_000}, "'r_aaa"),
        ({"ref_id": "r_" + "a" * 26}, f"no result is kept here as r_{'a' * 26}: call the tool again that gave it"),
        ({"ref_id": REF, "offset": 10**9}, f"offset 1000000000 is beyond the end: the result has {len(LINES)} characters"),
        ({"ref_id": REF, "offset": -1}, "recall_tool_result was not run: "),
        ({"ref_id": REF, "limit": 0}, "recall_tool_result was not run: "),
        ({"ref_id": REF, "pattern": "(unclosed"}, "the pattern is no regular expression that can be searched with: "),
        ({"ref_id": REF, "pattern": "x" * 1_001}, "the pattern is too long: at most 1000 characters"),
    ],
)
async def test_what_cannot_be_recalled_is_a_clear_error_and_the_run_goes_on(arguments: dict[str, Any], said: str) -> None:
    (_, found), _ = await run(calls(("log", {})), calls((RECALL, arguments)), says("done"))
    assert found.kind == "failed"
    assert found.text.startswith(said)
    assert len(found.text) < 400


async def test_another_sessions_result_is_nobody_elses() -> None:
    store, refs = MemoryResults(), list[str]()
    policy = Policy(result_limits=LIMITS)
    async with geode.session(
        model=Reader(calls(("log", {})), says("a")), tools=Tools().all, results=store, policy=policy
    ) as one:
        refs += [found.ref_id for found in results(await one.run("go"))]
        (found,), _ = await run(calls((RECALL, {"ref_id": refs[0]})), says("b"), store=store)
        assert len(store.ref_ids) == 1
    assert (found.kind, found.text) == ("failed", f"no result is kept here as {refs[0]}: call the tool again that gave it")


async def test_an_entry_whose_time_is_over() -> None:
    clock = ManualClock()
    store = MemoryResults(now=clock.now)
    model = Reader(calls(("log", {})), says("a"), recalls(), says("b"))
    policy = Policy(result_limits=LIMITS)
    async with geode.session(model=model, tools=Tools().all, results=store, policy=policy, clock=clock) as loop:
        first = await loop.run("go")
        clock.advance(4 * 3_600)
        found = results(await loop.run("go on", conversation=first.conversation))[-1]
    assert (found.kind, "has expired: call the tool again that gave it" in found.text) == ("failed", True)
    assert len(store.ref_ids) == 0


# ---- tools that take a ref_id ----------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["count", "count_in_a_thread"])
async def test_a_tool_reads_the_whole_by_its_id(tool: str) -> None:
    (_, found), _ = await run(calls(("log", {})), calls((tool, {"ref_id": REF})), says("done"))
    assert found.text == str(len(LINES))


@pytest.mark.parametrize("tool", ["count", "count_in_a_thread"])
async def test_a_tool_that_gets_no_id_fails_in_words_for_the_model(tool: str) -> None:
    (found,), _ = await run(calls((tool, {"ref_id": "../x"})), says("done"))
    assert (found.kind, found.text.startswith("'../x' is no ref_id")) == ("failed", True)


async def test_reading_on_the_event_loop_would_block_it() -> None:
    (_, found), _ = await run(calls(("log", {})), calls(("count_on_the_loop", {"ref_id": REF})), says("done"))
    assert (found.kind, "text-now" in found.detail) == ("failed", True)


async def test_where_nothing_is_kept_a_tool_is_told_so() -> None:
    policy = Policy(result_limits=ResultLimits(remedy="cut"))
    (found,), _ = await run(calls(("count", {"ref_id": "r_" + "a" * 26})), says("done"), policy=policy)
    assert found.text.endswith("long results are not kept in this session")
