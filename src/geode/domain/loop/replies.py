"""Judging a reply: does the run end, go on with calls, or ask again?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from geode.domain.answers import invalid_text, repair_text
from geode.domain.budget import calls_left, exhausted
from geode.domain.call_ids import with_unique_ids
from geode.domain.choice import NoTools
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.loop.actions import CallModel
from geode.domain.loop.calling import next_call
from geode.domain.loop.compacting import too_long
from geode.domain.loop.ending import answer, exhaust, fail, last_words, misfit, refuse
from geode.domain.loop.state import OpenRound, State
from geode.domain.recovery import Recovery, needs_recovery
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.rounds import settle
from geode.domain.tool_search import as_run
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, says_nothing
from geode.domain.verdicts import AnswerVerdict, Invalid, Valid, Verdict

CUT: Final = "not run: the reply was cut off by the output limit; send the call again, with smaller arguments"
UNDER_NONE: Final = "not run: no tool may be called in this round; answer in text"
BESIDE: Final = "not executed: the answer that came beside this call ended the run"


def answer_given(state: State, call: CallModel, reply: AdapterCallResult) -> str | None:
    """The text that has to fit the schema of the answer; None where nothing has to.

    Nothing is looked for in what was declined or cut off, and beside calls only where an answer ends the run all the same.
    """
    terms = state.terms
    if terms.answer is None or reply.stop not in (Stop.END, Stop.TOOL_CALLS) or not reply.text.strip():
        return None
    if reply.calls and (call.wrap_up is not None or terms.policy.answer_beside_calls != "early"):
        return None
    return last_words(state) + reply.text


def judge_reply(
    state: State,
    call: CallModel,
    reply: AdapterCallResult,
    verdicts: Sequence[Verdict],
    answer: AnswerVerdict | None = None,
) -> State:
    """A refusal beats calls, calls beat the provider's word, and only a known word ends a run without calls."""
    if reply.stop in (Stop.REFUSAL, Stop.CONTENT_FILTER):
        return refuse(state, reply)
    if reply.stop is Stop.ERROR:
        return fail(
            state, "model_error", f"{state.terms.owner.adapter}: the provider ended the reply with an error ({reply.stop_word})"
        )
    if reply.stop is Stop.CONTEXT_EXCEEDED:
        return _out_of_window(state, call, reply)
    if reply.calls and isinstance(answer, Valid):
        return _answered_beside(state, call, reply)
    if reply.calls:
        return _open_round(state, call, reply, verdicts)
    return _without_call(state, call, reply, answer)


def _out_of_window(state: State, call: CallModel, reply: AdapterCallResult) -> State:
    """The window was full before the reply was at its end. One that says nothing is a refusal for length."""
    word = reply.stop_word or reply.stop.value
    why = f"{state.terms.owner.adapter}: the window was full before the reply was at its end ({word})"
    if not reply.text.strip() and not reply.calls:
        # The round was none.
        again = replace(state, counters=replace(state.counters, rounds=call.round - 1))
        return too_long(again, call, why)
    return exhaust(_stored(state, _without_calls(reply)), "context_exhausted", why=why)


def _without_calls(reply: AdapterCallResult) -> AdapterCallResult:
    return replace(reply, items=tuple(item for item in reply.items if not isinstance(item, ToolUseBlock)))


def _stored(state: State, reply: AdapterCallResult) -> State:
    """The reply, which calls nothing, as a turn of the conversation; an empty one is not stored."""
    turn = AssistantTurn(reply.items, state.terms.owner)
    return state if says_nothing(turn) else replace(state, closed=state.closed.grown(turn))


def _without_call(state: State, call: CallModel, reply: AdapterCallResult, verdict: AnswerVerdict | None) -> State:
    counters, policy = state.counters, state.terms.policy
    match reply.stop:
        case Stop.PAUSE if counters.pauses < policy.max_pauses:
            return next_call(replace(_stored(state, reply), counters=replace(counters, pauses=counters.pauses + 1)))
        case Stop.PAUSE:
            why = f"the provider paused its turn more than {policy.max_pauses} times"
            return fail(_stored(state, reply), "model_error", f"{state.terms.owner.adapter}: {why}")
        case Stop.MAX_TOKENS:
            return exhaust(_stored(state, reply), "answer_truncated", concluded=True)
        case Stop.END | Stop.TOOL_CALLS if reply.text.strip():
            return _answered(_stored(state, reply), call, verdict)
        case Stop.END | Stop.TOOL_CALLS:
            return _empty(state, call)
        case _:
            why = f"the reply stopped with {reply.stop_word or reply.stop.value!r} and calls nothing"
            return fail(_stored(state, reply), "model_error", f"{state.terms.owner.adapter}: {why}")


def _answered(state: State, call: CallModel, verdict: AnswerVerdict | None) -> State:
    """What was said last ends the run, unless it does not fit the schema and may be given again. A conclusion may not."""
    errors = verdict.errors if isinstance(verdict, Invalid) else ()
    if call.wrap_up is not None:
        why = invalid_text(errors, last_words(state), 0) if errors else ""
        return exhaust(state, call.wrap_up, concluded=True, why=why)
    if not errors:
        return answer(state)
    counters, terms = state.counters, state.terms
    if terms.answer is None or counters.answer_repairs >= terms.policy.answer_repairs or exhausted(state) is not None:
        return misfit(state, invalid_text(errors, last_words(state), counters.answer_repairs))
    repaired = replace(state, counters=replace(counters, answer_repairs=counters.answer_repairs + 1))
    return next_call(repaired, told=(Hint("answer", repair_text(errors, terms.answer)),))


def _answered_beside(state: State, call: CallModel, reply: AdapterCallResult) -> State:
    """The run ends with the answer; no call beside it is executed."""
    turn = AssistantTurn(with_unique_ids(reply.items, call.round, state.call_ids), state.terms.owner)
    results = ToolResultsTurn(tuple(result(one.id, "interrupted", BESIDE) for one in turn.calls))
    return answer(replace(state, closed=state.closed.grown(turn, results)), last_words(state) + reply.text)


def _empty(state: State, call: CallModel) -> State:
    """Nothing was said: ask again, boundedly, and never end in the shape of an answer."""
    counters = state.counters
    if counters.empty_replies < state.terms.policy.max_empty_replies:
        return next_call(replace(state, counters=replace(counters, empty_replies=counters.empty_replies + 1)))
    if call.wrap_up is not None:
        return exhaust(state, call.wrap_up)
    return fail(state, "model_error", f"{state.terms.owner.adapter}: the model answered with nothing")


def _open_round(state: State, call: CallModel, reply: AdapterCallResult, verdicts: Sequence[Verdict]) -> State:
    """The calls as an open round, with the results of those that cannot run already in it."""
    items = with_unique_ids(reply.items, call.round, state.call_ids)
    turn = AssistantTurn(items, state.terms.owner)
    runs = tuple(as_run(one, state.terms.tools) for one in turn.calls)
    if isinstance(call.tool_choice, NoTools):
        broken = replace(state.counters, calls_under_none=state.counters.calls_under_none + 1)
        return _opened(replace(state, counters=broken), turn, runs, (result(one.id, "denied", UNDER_NONE) for one in runs))
    if reply.stop is Stop.MAX_TOKENS:
        return _opened(state, turn, runs, (result(one.id, "failed", CUT) for one in runs))
    terms = state.terms
    found = settle(
        runs,
        verdicts,
        terms.tools,
        state.grants,
        can_ask=terms.can_ask,
        calls_left=calls_left(state),
        calls_of=state.counters.calls_of,
    )
    return _recovering(_opened(state, turn, runs, found))


def _recovering(state: State) -> State:
    """The calls that may run of tools that keep failing, at the beginning of their recovery."""
    terms, failures = state.terms, state.habits.failures
    calls = [
        call for call in state.round.waiting if needs_recovery(terms.tools[call.name], failures.get(call.name, 0), terms.policy)
    ]
    recovering = {call.id: Recovery("retry", call, Valid()) for call in calls}
    return replace(state, open=replace(state.round, recovering=recovering)) if recovering else state


def _opened(state: State, turn: AssistantTurn, runs: Sequence[ToolUseBlock], found: Iterator[ToolResult]) -> State:
    forwarded = {one.id: one for one, made in zip(runs, turn.calls, strict=True) if one is not made}
    return replace(state, open=OpenRound(turn, {one.call_id: one for one in found}, {}, forwarded=forwarded))
