"""Making the one outcome of a run."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.failures import CallFailure
from geode.domain.loop.actions import Finish
from geode.domain.loop.outcome import Answered, Ending, Exhausted, ExhaustedReason, Failed, FailedReason, Refused, Stopped
from geode.domain.loop.state import State
from geode.domain.reply import AdapterCallResult
from geode.domain.turns import AssistantTurn, UserTurn


def answer(state: State, text: str | None = None) -> State:
    """The run ends by itself: what the model said last is the answer, or `text` where calls came beside it."""
    return _finish(
        state, Answered(last_words(state) if text is None else text, state.closed, state.counters.usage, state.terms.run_id)
    )


def stop(state: State, partial: str = "") -> State:
    """The caller wants no more of it. `partial` is what had been shown of the reply that was being given."""
    return _finish(state, Stopped(_said(state, partial), state.closed, state.counters.usage, state.terms.run_id))


def exhaust(state: State, reason: ExhaustedReason, *, concluded: bool = False, why: str = "") -> State:
    """A limit ends the run: with the model's conclusion if it gave one, else with what was said so far."""
    text = (last_words(state) if concluded else "") or state.said
    return _finish(state, Exhausted(text, state.closed, state.counters.usage, state.terms.run_id, reason, why))


def refuse(state: State, reply: AdapterCallResult) -> State:
    """The model declined; nothing of the refused reply is stored, its text is handed on."""
    return _finish(
        state, Refused(_said(state, reply.text), state.closed, state.counters.usage, state.terms.run_id, reply.refusal)
    )


def fail(state: State, reason: FailedReason, why: str, failure: CallFailure | None = None) -> State:
    """The provider failed for good."""
    text = _said(state, failure.partial if failure is not None else "")
    return _finish(state, Failed(text, state.closed, state.counters.usage, state.terms.run_id, reason, why, failure))


def misfit(state: State, why: str) -> State:
    """The answer, which is what the model said last, does not fit its schema."""
    text, told = last_words(state), f"{state.terms.owner.adapter}: {why}"
    return _finish(state, Failed(text, state.closed, state.counters.usage, state.terms.run_id, "answer_invalid", told))


def _said(state: State, more: str) -> str:
    """What the model has said in this run, and what was shown of a reply that is not stored."""
    return "\n".join(part for part in (state.said, more) if part.strip())


def last_words(state: State) -> str:
    """The text of the last answer: the assistant turns at the end, which are several after a pause.

    Hints end no answer, but for one that says what is wrong with it.
    """
    texts: list[str] = []
    for turn in reversed(state.closed.turns):
        match turn:
            case AssistantTurn():
                texts.append(turn.text)
            case UserTurn(items=(), hints=hints) if all(hint.kind != "answer" for hint in hints):
                continue
            case _:
                break
    return "".join(reversed(texts))


def _finish(state: State, outcome: Ending) -> State:
    return replace(state, pending=Finish(outcome))
