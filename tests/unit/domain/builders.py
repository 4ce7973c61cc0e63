"""Short ways to say what the tests of the domain are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from geode.domain.answers import AnswerTerms
from geode.domain.approval import Approve, Decision
from geode.domain.choice import Auto, ToolChoice
from geode.domain.content import Image, Opaque, Owner, ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure, RetryHint
from geode.domain.loop.actions import CallModel, Finish, RunStage
from geode.domain.loop.inputs import Decided, ModelFailed, ModelReplied, ToolFinished
from geode.domain.loop.outcome import Ending
from geode.domain.loop.state import State
from geode.domain.loop.step import begin, step
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, ReplyItem, Stop
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts, ToolSpec
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, UserTurn
from geode.domain.usage import Usage
from geode.domain.verdicts import AnswerVerdict, Unknown, Valid, Verdict

OWNER: Final = Owner("acme-payg", "acme-1")
OTHER: Final = Owner("other-payg", "other-1")
OBJECT_SCHEMA: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}

# One tool of each tier, by a name that says what it does.
TOOLS: Final[Mapping[str, ToolFacts]] = {
    "read": ToolFacts(SafetyTier.SAFE, "d-read"),
    "fetch": ToolFacts(SafetyTier.MCP_TRUSTED, "d-fetch"),
    "render": ToolFacts(SafetyTier.EXPENSIVE, "d-render"),
    "train": ToolFacts(SafetyTier.EXPENSIVE, "d-train"),
    "write": ToolFacts(SafetyTier.WRITE, "d-write"),
    "erase": ToolFacts(SafetyTier.DANGEROUS, "d-erase"),
}

Kind = TypeVar("Kind")


def expect(kind: type[Kind], value: object) -> Kind:
    """`value`, which must be a `kind`."""
    assert isinstance(value, kind), f"a {kind.__name__} was expected, not {value!r}"
    return value


# ---- values ------------------------------------------------------------------------------------


def call(id: str, name: str = "read", input: Mapping[str, Any] | None = None) -> ToolUseBlock:
    return ToolUseBlock(id, name, input or {})


def ok(call_id: str, text: str = "done") -> ToolResult:
    return ToolResult(call_id, "ok", (Text(text),))


def spec(name: str) -> ToolSpec:
    return ToolSpec(name, f"does {name}", OBJECT_SCHEMA)


def user(text: str = "hello", *hints: Hint) -> UserTurn:
    return UserTurn((Text(text),), hints)


def assistant(*items: Text | ToolUseBlock | Opaque | str) -> AssistantTurn:
    return AssistantTurn(tuple(Text(item) if isinstance(item, str) else item for item in items), OWNER)


def results(*found: ToolResult | str, hints: tuple[Hint, ...] = ()) -> ToolResultsTurn:
    return ToolResultsTurn(tuple(ok(one) if isinstance(one, str) else one for one in found), hints)


def image() -> Image:
    return Image("image/png", b"\x89PNG\r\n\x1a\n")


def failure(
    status: int | None,
    message: str = "it failed",
    *,
    type: str = "",
    code: str = "",
    phase: str = "response",
    timed_out: bool = False,
    after_output: bool = False,
    hint: RetryHint = RetryHint(),
) -> CallFailure:
    """A failed call; `phase` in a word of its own so that tables stay short."""
    match phase:
        case "connect":
            return CallFailure(status, "connect", message, type, code, timed_out, after_output, hint)
        case "stream":
            return CallFailure(status, "stream", message, type, code, timed_out, after_output, hint)
        case _:
            return CallFailure(status, "response", message, type, code, timed_out, after_output, hint)


def reply(
    *items: ReplyItem | str, stop: Stop | None = None, usage: Usage = Usage(10, 5), stop_word: str = ""
) -> AdapterCallResult:
    """A reply; unless said otherwise it stops as a well-behaved provider would say."""
    whole = tuple(Text(item) if isinstance(item, str) else item for item in items)
    usual = Stop.TOOL_CALLS if any(isinstance(item, ToolUseBlock) for item in whole) else Stop.END
    return AdapterCallResult(whole, stop or usual, usage, stop_word)


# ---- a run -------------------------------------------------------------------------------------


def begun(
    policy: Policy = Policy(),
    *,
    can_ask: bool = True,
    can_compact: bool = False,
    tools: Mapping[str, ToolFacts] = TOOLS,
    first_choice: ToolChoice = Auto(),
    conversation: Conversation = Conversation(),
    now: float = 0.0,
    fallbacks: tuple[Owner, ...] = (),
    answer: AnswerTerms | None = None,
    windows: Mapping[str, int] | None = None,
) -> State:
    return begin(
        run_id="run-1",
        owner=OWNER,
        policy=policy,
        tools=tools,
        conversation=conversation,
        turn=user(),
        now=now,
        can_ask=can_ask,
        can_compact=can_compact,
        first_choice=first_choice,
        fallbacks=fallbacks,
        answer=answer,
        windows=windows,
    )


def verdicts_for(state: State, calls: Sequence[ToolUseBlock]) -> tuple[Verdict, ...]:
    return tuple(Valid() if one.name in state.terms.tools else Unknown(()) for one in calls)


def replied(
    state: State,
    *items: ReplyItem | str,
    stop: Stop | None = None,
    usage: Usage = Usage(10, 5),
    stop_word: str = "",
    verdicts: tuple[Verdict, ...] | None = None,
    answer: AnswerVerdict | None = None,
    at: float | None = None,
) -> State:
    """The state after the model said `items`, with valid arguments unless said otherwise."""
    said = reply(*items, stop=stop, usage=usage, stop_word=stop_word)
    judged = verdicts if verdicts is not None else verdicts_for(state, said.calls)
    return step(state, ModelReplied(state.now if at is None else at, said, judged, answer))


def failed(state: State, fault: CallFailure, *, jitter: float = 0.5, at: float | None = None) -> State:
    return step(state, ModelFailed(state.now if at is None else at, fault, jitter))


def finished(state: State, call_id: str, kind: ResultKind = "ok", text: str = "done", at: float | None = None) -> State:
    found = ToolResult(call_id, kind, (Text(text),))
    return step(state, ToolFinished(state.now if at is None else at, found))


def decided(
    state: State, call_id: str, decision: Decision = Approve(), verdict: Verdict | None = None, at: float | None = None
) -> State:
    return step(state, Decided(state.now if at is None else at, call_id, decision, verdict))


def model_call(state: State) -> CallModel:
    return expect(CallModel, state.pending)


def stage(state: State) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the pending stage starts, and what it asks about."""
    pending = expect(RunStage, state.pending)
    return pending.start, pending.ask


def ending(state: State) -> Ending:
    return expect(Finish, state.pending).outcome


def last_results(state: State) -> tuple[ToolResult, ...]:
    """The results of the round that closed last."""
    return next(turn.results for turn in reversed(state.closed.turns) if isinstance(turn, ToolResultsTurn))


def kinds(state: State) -> dict[str, ResultKind]:
    """Call id to kind of result, for the round that closed last."""
    return {one.call_id: one.kind for one in last_results(state)}


def rounds_of_reading(state: State, count: int) -> State:
    """`count` whole rounds in which the model reads something, another thing in each."""
    for _ in range(count):
        number = state.counters.rounds
        state = replied(state, call(f"r{number}", input={"part": number}))
        state = finished(state, stage(state)[0][0])
    return state
