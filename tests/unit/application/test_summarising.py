"""geode makes a conversation shorter by a summary: what is asked, what is kept and told, and what becomes of failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from returns.result import Result

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.askable import Askable, askable
from geode.domain.choice import Auto, NoTools
from geode.domain.compaction import INSTRUCTION
from geode.domain.content import Image, Owner, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import AuthenticationError, ModelCallError
from geode.domain.failures import CallFailure
from geode.domain.loop.outcome import Exhausted
from geode.domain.models import ModelRow
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.script import Step, calls, fails, hangs, says
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn, hints_of
from geode.domain.usage import Usage
from geode.events import Spending
from geode.ports.events import Notice, Summarised
from geode.ports.hooks import Hooks, Veto
from geode.ports.model import Emit, ModelAdapter
from tests.unit.application.rig import Recorder, answered, loop_of, outcome_of, replayed, turns

TOO_LONG = fails(400, code="context_length_exceeded", message="prompt is too long: 9 tokens > 8 maximum")
POLICY = Policy(compact_above=1.0, compact_keep_rounds=1)


def user(text: str) -> UserTurn:
    return UserTurn((Text(text),))


def said(text: str) -> AssistantTurn:
    return AssistantTurn((Text(text),))


BEFORE = Conversation((user("a"), said("A"), user("b"), said("B")))


@geode.tool(tier="safe")
def read() -> str:
    """Read."""
    return "read"


def notices(seen: Recorder) -> list[tuple[str, str]]:
    return [(notice.kind, notice.text) for notice in seen.of(Notice)]


async def test_the_same_model_writes_it_behind_the_same_beginning_with_its_tools_and_no_choice_of_them() -> None:
    summary = replace(says("it was about a"), input_tokens=70, output_tokens=7)
    model, seen, journal = ScriptedModel(TOO_LONG, summary, says("done")), Recorder(), MemoryJournal()
    loop = loop_of(model=model, tools=[read], policy=POLICY, observe=[seen], journal=journal)
    outcome = answered(await loop.run("go", conversation=BEFORE))
    first, asked, again = model.requests
    assert asked.turns == (user("a"), said("A"), user(INSTRUCTION))
    assert (asked.tools, asked.system, asked.model) == (first.tools, first.system, first.model)
    assert (asked.tool_choice, first.tool_choice) == (NoTools(), Auto())
    assert again.turns[1:] == (user("b"), said("B"), user("go"))
    (hint,) = hints_of(again.turns)
    assert (hint.kind, hint.text.split("\n\n")[1:]) == ("summary", ["it was about a"])
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (80, 12)
    text = "the conversation was too long for m; it was compacted from 5 turns to 4, with a summary by m (70 tokens in, 7 out)"
    assert notices(seen) == [("compacted", text)]
    (told,) = seen.of(Summarised)
    assert (told.adapter, told.model, told.usage.input_tokens, told.why) == ("scripted", "m", 70, "")
    assert outcome_of(replayed(journal)) == outcome


@pytest.mark.parametrize("other", [False, True])
async def test_a_summary_belongs_to_the_session_of_its_run_whoever_writes_it(other: bool) -> None:
    """Spec section 10: text summaries keep the session id."""
    writer = ScriptedModel(says("about a"), name="other")
    model = ScriptedModel(TOO_LONG, *([] if other else [says("about a")]), says("done"))
    loop = loop_of(model=model, policy=POLICY, summariser=askable(writer, "s") if other else None)
    outcome = answered(await loop.run("go", conversation=BEFORE))
    requests = [*model.requests, *writer.requests]
    assert [request.affinity for request in requests] == [outcome.run_id] * 3
    assert len(writer.requests) == other


async def test_without_a_policy_of_its_own_a_run_that_is_refused_as_too_long_is_compacted_and_goes_on() -> None:
    """Spec section 6: context overflow from the provider: compaction, then the same call again, at most 2 times in a run."""
    longer = BEFORE.grown(user("c"), said("C"), user("d"), said("D"))
    model = ScriptedModel(TOO_LONG, says("a and b"), TOO_LONG, says("a to d"), TOO_LONG)
    outcome = await loop_of(model=model).run("go", conversation=longer)
    assert isinstance(outcome, Exhausted)
    assert [len(request.turns) for request in model.requests] == [9, 5, 6, 6, 2]
    assert outcome.conversation.turns[1:] == (user("go"),)
    model = ScriptedModel(TOO_LONG, says("a and b"), says("done"))
    assert answered(await loop_of(model=model).run("go", conversation=longer)).text == "done"
    only_hooks = ScriptedModel(TOO_LONG)
    outcome = await loop_of(model=only_hooks, policy=Policy(compact_above=None)).run("go", conversation=longer)
    assert (outcome.reason, len(only_hooks.requests)) == ("context_exhausted", 1)


async def test_a_passing_failure_of_the_summary_is_tried_again() -> None:
    policy = replace(POLICY, retry=geode.RetryPolicy(base_seconds=0.0001, max_seconds=0.001))
    model = ScriptedModel(TOO_LONG, fails(503), says("short"), says("done"))
    answered(await loop_of(model=model, policy=policy).run("go", conversation=BEFORE))
    assert len(model.requests) == 4


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        (says(" "), "the summary is empty"),
        (replace(says("s"), stop="max_tokens"), "the summary broke off: max_tokens"),
        (replace(says("I cannot"), stop="refusal"), "the summary broke off: refusal"),
        (calls(("read", {})), "the model called tools instead of writing a summary"),
        (fails(401, message="no such key"), "the summary failed: scripted"),
    ],
)
async def test_a_summary_that_fails_leaves_the_conversation_and_ends_the_run_that_was_refused(summary: Step, why: str) -> None:
    seen = Recorder()
    loop = loop_of(model=ScriptedModel(TOO_LONG, summary), tools=[read], policy=POLICY, observe=[seen])
    outcome = await loop.run("go", conversation=BEFORE)
    assert isinstance(outcome, Exhausted)
    assert [event.why.startswith(why) for event in seen.of(Summarised)] == [True]
    ((kind, text),) = notices(seen)
    assert (kind, f"; it was not compacted: {why}" in text) == ("not_compacted", True)
    assert (outcome.reason, outcome.conversation.turns) == ("context_exhausted", (*BEFORE.turns, user("go")))
    assert f". It was not compacted: {why}" in outcome.why


async def test_where_nothing_can_be_left_out_no_summary_is_asked_for() -> None:
    model = ScriptedModel(TOO_LONG)
    outcome = await loop_of(model=model, policy=POLICY).run("go")
    assert isinstance(outcome, Exhausted)
    assert outcome.why.endswith("It was not compacted: nothing before the latest turns can be left out")
    assert len(model.requests) == 1


async def test_a_hook_comes_first_and_its_veto_is_the_last_word() -> None:
    shorter = Conversation((user("by the hook"), user("go")))
    model = ScriptedModel(TOO_LONG, says("done"))
    answered(await loop_of(model=model, policy=POLICY, hooks=[Hooks(compact=lambda _: shorter)]).run("go", conversation=BEFORE))
    assert model.requests[1].turns == shorter.turns
    vetoed = ScriptedModel(TOO_LONG)
    hooks = [Hooks(compact=lambda _: Veto("not this one"))]
    outcome = await loop_of(model=vetoed, policy=POLICY, hooks=hooks).run("go", conversation=BEFORE)
    assert outcome.reason == "context_exhausted"
    passing = ScriptedModel(TOO_LONG, says("short"), says("done"))
    hooks = [Hooks(compact=lambda _: None)]
    answered(await loop_of(model=passing, policy=POLICY, hooks=hooks).run("go", conversation=BEFORE))
    assert len(passing.requests) == 3


async def test_what_a_hook_guards_is_guarded_in_the_summary_too() -> None:
    model = ScriptedModel(TOO_LONG, says("short"), says("done"))
    hooks = [Hooks(before_model=lambda request: replace(request, system="guarded"))]
    answered(await loop_of(model=model, policy=POLICY, hooks=hooks).run("go", conversation=BEFORE))
    assert [request.system for request in model.requests] == ["guarded"] * 3


async def test_all_attempts_at_a_summary_are_spent() -> None:
    class Charging(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            answer = await super().acomplete(request, emit)
            return answer.alt(lambda failure: replace(failure, usage=Usage(7, 1) if failure.status == 503 else None))

    policy = replace(POLICY, retry=geode.RetryPolicy(base_seconds=0.0001, max_seconds=0.001))
    seen, spending = Recorder(), Spending()
    model = Charging(TOO_LONG, fails(503), fails(503), fails(503))
    loop = loop_of(model=model, policy=policy, observe=[seen, spending])
    outcome = await loop.run("go", conversation=BEFORE)
    assert outcome.usage.total_tokens == seen.of(Summarised)[0].usage.total_tokens == 24
    assert spending.spent.usage.total_tokens == 24


async def test_another_model_that_cannot_be_opened_ends_the_run_that_needs_it_and_the_outcome_says_why() -> None:
    async def opened() -> ModelAdapter:
        raise OSError("the vault is closed")

    loop = loop_of(TOO_LONG, policy=POLICY, summariser=Askable(Owner("vaulted", "v"), opened))
    outcome = await loop.run("go", conversation=BEFORE)
    assert isinstance(outcome, Exhausted)
    why = "vaulted, which writes summaries, cannot be asked: OSError: the vault is closed"
    assert (outcome.reason, outcome.why.endswith(f". It was not compacted: {why}")) == ("context_exhausted", True)


async def test_what_another_model_cannot_be_shown_the_one_that_is_asked_sums_up() -> None:
    """It was shown it before; nothing is left out of a summary because nobody looked at it."""
    picture = UserTurn((Text("look"), Image("image/png", b"\x89PNG\r\n\x1a\n")))
    before = Conversation((picture, said("A red one."), user("b"), said("B")))
    blind = ScriptedModel(name="blind", capabilities=Capabilities(images="none", media=frozenset()))
    model, seen = ScriptedModel(TOO_LONG, says("a red one"), says("done")), Recorder()
    loop = loop_of(model=model, policy=POLICY, summariser=askable(blind, "blind"), observe=[seen])
    answered(await loop.run("go", conversation=before))
    assert blind.requests == []
    assert [event.adapter for event in seen.of(Summarised)] == ["scripted"]
    plain = ScriptedModel(says("about a"), name="other")
    loop = loop_of(TOO_LONG, says("done"), policy=POLICY, summariser=askable(plain, "other"), observe=[seen])
    answered(await loop.run("go", conversation=BEFORE))
    assert [event.adapter for event in seen.of(Summarised)] == ["scripted", "other"]


async def test_what_is_too_long_for_one_summary_is_summarised_by_halves() -> None:
    longer = BEFORE.grown(user("c"), said("C"), user("d"), said("D"))
    seen = Recorder()
    model = ScriptedModel(TOO_LONG, TOO_LONG, says("a"), says("a to c"), says("done"))
    outcome = answered(await loop_of(model=model, policy=POLICY, observe=[seen]).run("go", conversation=longer))
    whole, first, second = (request.turns for request in model.requests[1:4])
    assert whole == (*longer.turns[:6], user(INSTRUCTION))
    assert first == (*longer.turns[:2], user(INSTRUCTION))
    assert hints_of(second)[0].text.endswith("\n\na")
    assert second[1:] == (*longer.turns[2:6], user(INSTRUCTION))
    assert hints_of(outcome.conversation.turns)[0].text.endswith("\n\na to c")
    assert [event.why[:18] for event in seen.of(Summarised)] == ["the summary failed", "", ""]
    assert outcome.usage.total_tokens == 3 * 15


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_total_tokens": 20}, "token_budget"),
        ({"max_cost_usd": Decimal("0.01")}, "cost_budget"),
        ({"max_seconds": 60.0}, "context_exhausted"),
    ],
)
async def test_no_attempt_at_a_summary_is_made_that_the_budgets_have_no_room_for(limits: Any, reason: str) -> None:
    """Spec section 6: budgets are checked before the spend."""

    class Charging(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            answer = await super().acomplete(request, emit)
            told = Usage(20, 0, Decimal("0.01"))
            return answer.alt(lambda failure: replace(failure, usage=told if failure.status == 503 else None))

    model = Charging(TOO_LONG, fails(503, retry_after=60))
    outcome = await loop_of(model=model, policy=replace(POLICY, **limits), clock=ManualClock()).run("go", conversation=BEFORE)
    assert (outcome.reason, len(model.requests)) == (reason, 2)
    assert model.requests[1].limits.max_output_tokens == limits.get("max_total_tokens")


@pytest.mark.parametrize("at", [Summarised, Notice])
async def test_a_summary_that_has_come_is_paid_for_whatever_is_done_while_it_is_told(at: type[Any]) -> None:
    async def watch(event: Any) -> None:
        if isinstance(event, at):
            loop.stop()
            await turns(3)

    spending = Spending()
    loop = loop_of(TOO_LONG, says("short"), says("done"), policy=POLICY, observe=[spending, watch])
    outcome = await loop.run("go", conversation=BEFORE)
    assert outcome.reason == "stopped"
    assert outcome.usage.total_tokens == loop.spent.usage.total_tokens == spending.spent.usage.total_tokens == 15


async def test_each_piece_of_a_summary_is_within_what_is_left_of_the_budgets() -> None:
    longer = BEFORE.grown(user("c"), said("C"), user("d"), said("D"))
    tight = replace(POLICY, max_total_tokens=40)
    model = ScriptedModel(TOO_LONG, TOO_LONG, says("a"), says("a to c"))
    outcome = await loop_of(model=model, policy=tight).run("go", conversation=longer)
    assert (outcome.reason, outcome.usage.total_tokens) == ("token_budget", 30)
    assert [request.limits.max_output_tokens for request in model.requests] == [40, 40, 40, 10]
    tighter = ScriptedModel(TOO_LONG, TOO_LONG, says("a"))
    outcome = await loop_of(model=tighter, policy=replace(POLICY, max_total_tokens=30)).run("go", conversation=longer)
    assert (outcome.reason, outcome.usage.total_tokens, len(tighter.requests)) == ("token_budget", 15, 3)


async def test_what_another_model_would_be_told_in_words_the_one_that_is_asked_sums_up() -> None:
    asked = AssistantTurn((ToolUseBlock("1", "look", {}),))
    shown = ToolResultsTurn((ToolResult("1", "ok", (Image("image/png", b"\x89PNG\r\n\x1a\n"),)),))
    before = Conversation((user("look"), asked, shown, said("A red one."), user("b"), said("B")))
    blind = ScriptedModel(name="blind", capabilities=Capabilities(images="none", media=frozenset()))
    model = ScriptedModel(TOO_LONG, says("a red one"), says("done"))
    answered(await loop_of(model=model, policy=POLICY, summariser=askable(blind, "blind")).run("go", conversation=before))
    assert blind.requests == []


async def test_a_summary_that_is_cut_short_is_told_and_counted_as_unknown() -> None:
    for stops in (True, False):
        seen, spending = Recorder(), Spending()
        loop = loop_of(TOO_LONG, hangs(), policy=POLICY, observe=[seen, spending])
        running = asyncio.create_task(loop.run("go", conversation=BEFORE))
        await turns(30)
        if stops:
            loop.stop()
            assert (await running).usage == Usage(unpriced_calls=1)
        else:
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await turns(5)
        assert loop.spent.usage == Usage(unpriced_calls=1)
        assert [event.why for event in seen.of(Summarised)] == ["it was cut short"]
        assert list(spending.lines()) == ["scripted m: 1 reply cut short, tokens and cost unknown"]


# ---- outside runs ------------------------------------------------------------------------------


async def test_a_conversation_is_compacted_outside_a_run() -> None:
    model = ScriptedModel(replace(says("about a"), input_tokens=70, output_tokens=7))
    made = await loop_of(model=model, policy=POLICY).compact(BEFORE)
    assert made.conversation.turns[1:] == (user("b"), said("B"))
    assert hints_of(made.conversation.turns)[0].text.endswith("about a")
    assert made.usage.total_tokens == 77


async def test_a_short_conversation_stays_as_it_is() -> None:
    short = Conversation((user("a"), said("A")))
    made = await loop_of(model=ScriptedModel()).compact(short)
    assert (made.conversation, made.served, made.usage) == (short, None, Usage())


async def test_what_fails_outside_a_run_is_raised() -> None:
    with pytest.raises(AuthenticationError):
        await loop_of(model=ScriptedModel(fails(401))).compact(BEFORE.grown(user("c"), said("C"), user("d"), said("D")))
    with pytest.raises(ModelCallError, match=r"^the summary is empty$") as caught:
        await loop_of(model=ScriptedModel(says(" ")), policy=POLICY).compact(BEFORE)
    assert caught.value.failure is not None
    assert caught.value.failure.usage == Usage(10, 5, unpriced_calls=1), "it was paid for"


async def test_a_runtime_lends_what_it_takes() -> None:
    async with geode.Runtime(model=ScriptedModel(says("about a")), policy=POLICY) as runtime:
        made = await runtime.compact(BEFORE)
    assert len(made.conversation.turns) == 3


# ---- ahead of a round --------------------------------------------------------------------------

CROWDED = Policy(compact_above=0.5, compact_keep_rounds=1)


def with_window(*steps: Step) -> ScriptedModel:
    """A model that reads 100 tokens."""
    return ScriptedModel(*steps, capabilities=Capabilities(models=(ModelRow("m", window=100),)))


def filling(tokens: int) -> Step:
    return replace(calls(("read", {})), input_tokens=tokens - 5, output_tokens=5)


async def test_before_a_round_what_fills_the_window_is_summarised_and_the_run_goes_on() -> None:
    seen = Recorder()
    model = with_window(filling(20), filling(51), says("read once"), says("done"))
    answered(await loop_of(model=model, tools=[read], policy=CROWDED, observe=[seen]).run("go"))
    assert model.requests[2].turns[-1] == user(INSTRUCTION)
    assert [len(request.turns) for request in model.requests] == [1, 3, 4, 4]
    text = "the last call filled 51 of the 100 tokens that m reads; it was compacted from 5 turns to 4"
    assert notices(seen) == [("compacted", f"{text}, with a summary by m (10 tokens in, 5 out)")]


async def test_a_summary_that_fails_ahead_of_a_round_is_told_and_the_round_is_made_as_it_was() -> None:
    seen = Recorder()
    model = with_window(filling(20), filling(51), says(" "), says("done"))
    answered(await loop_of(model=model, tools=[read], policy=CROWDED, observe=[seen]).run("go"))
    assert [len(request.turns) for request in model.requests] == [1, 3, 4, 5]
    text = "the last call filled 51 of the 100 tokens that m reads; it was not compacted: the summary is empty"
    assert notices(seen) == [("not_compacted", text)]
