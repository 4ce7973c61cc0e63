"""The whole state of a run between two inputs. It can be stored at any point and holds no handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from geode.domain.approval import Decision, Grant, Later
from geode.domain.choice import ToolChoice
from geode.domain.content import Owner, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.loop.actions import Action, RunStage
from geode.domain.policy import Policy
from geode.domain.reply import Usage
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A turn whose calls are not all answered yet. `ran` counts the calls that were executed."""

    turn: AssistantTurn
    results: Mapping[str, ToolResult]
    decisions: Mapping[str, Decision]
    ran: int = 0

    def call(self, call_id: str) -> ToolUseBlock:
        return next(call for call in self.turn.calls if call.id == call_id)

    @property
    def waiting(self) -> tuple[ToolUseBlock, ...]:
        """Calls without a result, in call order."""
        return tuple(call for call in self.turn.calls if call.id not in self.results)

    @property
    def postponed(self) -> tuple[ToolUseBlock, ...]:
        """Calls that a person will answer for later."""
        return tuple(call for call in self.waiting if isinstance(self.decisions.get(call.id), Later))


@dataclass(frozen=True, slots=True)
class Counters:
    """What has been spent. `rounds` counts model rounds, `calls_under_none` replies that called although they must not."""

    rounds: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    last_usage: Usage = Usage()
    pauses: int = 0
    empty_replies: int = 0
    calls_under_none: int = 0
    call_started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What stays as it is from the beginning of a run to its end.

    `tools` has facts and no handlers; `first_turn` is where the run began in the conversation.
    """

    run_id: str
    owner: Owner
    policy: Policy
    tools: Mapping[str, ToolFacts]
    can_ask: bool
    first_choice: ToolChoice
    first_turn: int
    started_at: float


@dataclass(frozen=True, slots=True)
class State:
    """See the module. `closed` ends with the last closed round."""

    terms: Terms
    closed: Conversation
    now: float
    pending: Action
    open: OpenRound | None = None
    counters: Counters = Counters()
    grants: tuple[Grant, ...] = ()
    stopping: bool = False

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
        texts = [turn.text for turn in turns]
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
