"""What the loop takes in: facts, as they happen. Each carries `at`, in epoch seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from geode.domain.approval import Decision
from geode.domain.content import ToolResult
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.domain.spent import Spent
from geode.domain.tools import ToolFacts
from geode.domain.usage import Usage
from geode.domain.verdicts import AnswerVerdict, Verdict


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """The model answered; one verdict per call, in call order. `answer` is about the text, where that has to fit a schema."""

    at: float
    reply: AdapterCallResult
    verdicts: tuple[Verdict, ...] = ()
    answer: AnswerVerdict | None = None


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The call failed; `jitter` is a draw from [0, 1) for the delay before the next attempt."""

    at: float
    failure: CallFailure
    jitter: float


@dataclass(frozen=True, slots=True)
class CallRefused:
    """The request was refused before it left, because the adapter cannot carry it."""

    at: float
    why: str


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """Before a round: the tools are others than in the round before."""

    at: float
    tools: Mapping[str, ToolFacts]


@dataclass(frozen=True, slots=True)
class Switched:
    """The next model is at hand; or it cannot be asked, for the reason `refused`."""

    at: float
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Compacted:
    """The conversation as it goes on, or None when nobody made it shorter, for the reason `why`.

    `spent`: what it took, `last` the last call of it.
    """

    at: float
    conversation: Conversation | None
    why: str = ""
    spent: Spent = Spent()
    last: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Decided:
    """A person answered for one call; `verdict` is about edited arguments, if there are any."""

    at: float
    call_id: str
    decision: Decision
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the tool that is to stand in takes the arguments of the call."""

    at: float
    call_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CallChanged:
    """The application gave a call, before it was asked about or started, other arguments, which fit its schema."""

    at: float
    call_id: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallVetoed:
    """The application forbade a call before it was asked about or started; the model is told `why`."""

    at: float
    call_id: str
    why: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """One call was executed, with this result. `spent` is what it used of the run's budgets beside its execution."""

    at: float
    result: ToolResult
    spent: Spent | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """The wait is over."""

    at: float


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The run's time is used up while calls run or a person is asked."""

    at: float


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The caller wants the run to end: what runs may finish, nothing new starts.

    `partial` is what had been shown of a reply that was being given, `spent` what calls had taken that were under way.
    """

    at: float
    partial: str = ""
    spent: Spent = Spent()


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run was cancelled: nothing that runs will report any more. `spent`: what calls of the model that were under way
    had taken."""

    at: float
    spent: Spent = Spent()


Input: TypeAlias = (
    ModelReplied
    | ModelFailed
    | CallRefused
    | ToolsChanged
    | Switched
    | Compacted
    | Decided
    | Checked
    | CallChanged
    | CallVetoed
    | ToolFinished
    | Waited
    | TimePassed
    | StopRequested
    | Interrupted
)
