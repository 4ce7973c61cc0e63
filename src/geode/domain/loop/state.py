"""The whole state of a run between two inputs. It can be stored at any point and holds no handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from geode.domain.answers import AnswerTerms
from geode.domain.approval import Decision, Grant, Later
from geode.domain.choice import ToolChoice
from geode.domain.content import Owner, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.habits import Habits
from geode.domain.loop.actions import Action, RunStage
from geode.domain.policy import Policy
from geode.domain.recovery import Recovery
from geode.domain.spent import Spent
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn
from geode.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A turn whose calls are not all answered yet.

    `ran` counts the executions of each tool; `recovering` tells how far each call is whose tool keeps failing;
    `changed` has the arguments that the application put in place of those of what runs now, by call id;
    `forwarded` the calls that were made through the search tool, as those of the tools that they name.
    """

    turn: AssistantTurn
    results: Mapping[str, ToolResult]
    decisions: Mapping[str, Decision]
    ran: Mapping[str, int] = field(default_factory=dict[str, int])
    recovering: Mapping[str, Recovery] = field(default_factory=dict[str, Recovery])
    changed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    forwarded: Mapping[str, ToolUseBlock] = field(default_factory=dict[str, ToolUseBlock])

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls as the model wants them run, in call order."""
        if not self.forwarded:
            return self.turn.calls
        return tuple(self.forwarded.get(call.id, call) for call in self.turn.calls)

    def call(self, call_id: str) -> ToolUseBlock:
        """The call as it is to run now: of the tool that stands in for its own, where one does."""
        return self.current(self.called(call_id))

    def called(self, call_id: str) -> ToolUseBlock:
        """The call as the model wants it run."""
        return next(call for call in self.calls if call.id == call_id)

    def current(self, call: ToolUseBlock) -> ToolUseBlock:
        """What runs for `call` now."""
        recovery, arguments = self.recovering.get(call.id), self.changed.get(call.id)
        now = call if recovery is None else recovery.call
        return now if arguments is None else replace(now, input=arguments, unparsed=None)

    def with_arguments(self, call_id: str, arguments: Mapping[str, Any]) -> OpenRound:
        """The round with other arguments for what runs for a call now."""
        return replace(self, changed={**self.changed, call_id: arguments})

    def on_to(self, recovery: Recovery) -> OpenRound:
        """The round with this step of a recovery next: nobody has been asked about it or has changed it yet."""
        id = recovery.call.id
        return replace(
            self,
            decisions={other: decision for other, decision in self.decisions.items() if other != id},
            changed={other: arguments for other, arguments in self.changed.items() if other != id},
            recovering={**self.recovering, id: recovery},
        )

    def step_of(self, call_id: str) -> int:
        """How many steps of its recovery a call has behind it: it may be started, and asked about, once in each."""
        recovery = self.recovering.get(call_id)
        return 0 if recovery is None else len(recovery.tried)

    @property
    def executions(self) -> int:
        """How many executions of tools the round has had."""
        return sum(self.ran.values())

    @property
    def unchecked(self) -> Mapping[str, Recovery]:
        """The calls whose stand-in was not checked yet, by id."""
        found = self.recovering.items()
        return {id: one for id, one in found if one.verdict is None and id not in self.results}

    def escalated(self, call_id: str) -> bool:
        """Whether the call runs once more only if a person says so, whatever its tier."""
        recovery = self.recovering.get(call_id)
        return recovery is not None and recovery.step == "escalate"

    @property
    def waiting(self) -> tuple[ToolUseBlock, ...]:
        """Calls without a result as they are to run now, in call order."""
        return tuple(self.current(call) for call in self.calls if call.id not in self.results)

    @property
    def postponed(self) -> tuple[ToolUseBlock, ...]:
        """Calls that a person will answer for later."""
        return tuple(call for call in self.waiting if isinstance(self.decisions.get(call.id), Later))


@dataclass(frozen=True, slots=True)
class Counters:
    """What has been spent.

    `rounds` counts model rounds, `tool_calls` executions, those inside calls included, and `calls_of` those of each tool,
    `calls_under_none` replies that called although they must not, `compactions` how often one was asked for because
    the provider refused the conversation for its length. `compacted_ahead` is the last round before which one was asked
    for without that. `answer_repairs` is how often an answer was sent back that did not fit its schema.
    `last_usage` is that of the last call that came to something, or of a dearer one that did not. `broken_off` are those
    of the `unpriced_calls` of `usage` whose reply broke off.
    """

    rounds: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    last_usage: Usage = Usage()
    pauses: int = 0
    empty_replies: int = 0
    calls_under_none: int = 0
    call_started_at: float = 0.0
    calls_of: Mapping[str, int] = field(default_factory=dict[str, int])
    compactions: int = 0
    answer_repairs: int = 0
    compacted_ahead: int | None = None
    broken_off: int = 0

    def charged(self, spent: Spent) -> Counters:
        """The same, with what was spent beside replies and executions."""
        return replace(
            self,
            usage=self.usage + spent.usage,
            tool_calls=self.tool_calls + spent.tool_calls,
            broken_off=self.broken_off + spent.broken_off,
        )

    def expecting(self, usage: Usage) -> Counters:
        """The same, where the next call may take as much as `usage`, if that is dearer than the last one was."""
        return replace(self, last_usage=max(self.last_usage, usage, key=_dearness))


def _dearness(usage: Usage) -> tuple[Decimal, int]:
    return usage.cost_usd or Decimal(0), usage.total_tokens


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds from the beginning of a run to its end, or until it is taken up elsewhere.

    `tools` has facts and no handlers; `first_turn` is where the run began in the conversation as it is now.
    `owner` is the model that is asked. `chain` has the models that the run may use in their order, each once, the
    session's own first; it is empty where no other may be used. `windows` are the tokens that they read at most, by
    their names, where that is known. `answer` is what the answer has to fit, if it has to fit anything.
    """

    run_id: str
    owner: Owner
    policy: Policy
    tools: Mapping[str, ToolFacts]
    can_ask: bool
    first_choice: ToolChoice
    first_turn: int
    started_at: float
    can_compact: bool = False
    chain: tuple[Owner, ...] = ()
    windows: Mapping[str, int] = field(default_factory=dict[str, int])
    answer: AnswerTerms | None = None

    @property
    def window(self) -> int | None:
        """The window of the model that is asked, in tokens, where it is known."""
        return self.windows.get(self.owner.name)

    @property
    def next_owner(self) -> Owner | None:
        """The model after the one that is asked, or None at the end of the chain."""
        if self.owner not in self.chain:
            return None
        after = self.chain.index(self.owner) + 1
        return self.chain[after] if after < len(self.chain) else None


@dataclass(frozen=True, slots=True)
class State:
    """See the module. `closed` ends with the last closed round.

    `said_before` and `ids_before` are what was said, and the ids of calls, in turns that compaction took out.
    `left` says of each model that the run switched from why it did.
    """

    terms: Terms
    closed: Conversation
    now: float
    pending: Action
    open: OpenRound | None = None
    counters: Counters = Counters()
    grants: tuple[Grant, ...] = ()
    stopping: bool = False
    habits: Habits = Habits()
    said_before: str = ""
    ids_before: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids that calls of this run and of the conversation before it had: none is ever given to another call."""
        return self.closed.call_ids.union(self.ids_before) if self.ids_before else self.closed.call_ids

    @property
    def round(self) -> OpenRound:
        """The open round; IllegalInput when there is none."""
        if self.open is None:
            raise IllegalInput("no round is open")
        return self.open

    @property
    def said(self) -> str:
        """What the model has said in this run so far, turns separated by a line break."""
        turns = (turn for turn in self.closed.turns[self.terms.first_turn :] if isinstance(turn, AssistantTurn))
        texts = [self.said_before, *(turn.text for turn in turns)]
        if self.open is not None:
            texts.append(self.open.turn.text)
        return "\n".join(text for text in texts if text.strip())

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds left of the time budget, or None where there is no such budget."""
        if self.terms.policy.max_seconds is None:
            return None
        return self.terms.policy.max_seconds - (self.now - self.terms.started_at)

    @property
    def stage(self) -> RunStage:
        """The pending stage; IllegalInput when something else is pending."""
        if not isinstance(self.pending, RunStage):
            raise IllegalInput(f"{type(self.pending).__name__} is pending, not RunStage")
        return self.pending
