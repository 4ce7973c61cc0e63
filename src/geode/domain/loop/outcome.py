"""How a run ends: six outcomes, a closed set of reasons (spec section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

from geode.domain.content import ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import AuthenticationError, BillingError, ModelCallError, RequestRefused, StreamInterrupted
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.usage import Usage

# What the answers of a session are, where it has a type of them.
Value = TypeVar("Value")

ExhaustedReason: TypeAlias = Literal[
    "max_rounds",
    "time_budget",
    "tool_budget",
    "token_budget",
    "cost_budget",
    "no_progress",
    "context_exhausted",
    "answer_truncated",
]
FailedReason: TypeAlias = Literal["billing_error", "auth_error", "request_error", "model_error", "answer_invalid"]

_ERRORS: Final[Mapping[FailedReason, type[ModelCallError]]] = {
    "billing_error": BillingError,
    "auth_error": AuthenticationError,
    "request_error": RequestRefused,
    "model_error": ModelCallError,
    "answer_invalid": ModelCallError,
}


def reason_of(kind: FailureClass) -> FailedReason:
    """Why a run fails in which a failure of this class is final."""
    match kind:
        case FailureClass.BILLING:
            return "billing_error"
        case FailureClass.AUTH:
            return "auth_error"
        case FailureClass.REQUEST_FATAL | FailureClass.OTHER_CLIENT:
            return "request_error"
        case _:
            return "model_error"


def error_of(reason: FailedReason, why: str, failure: CallFailure | None) -> ModelCallError:
    """The exception for a call that failed for good, for this reason."""
    if failure is not None and classify_retry_error(failure) is FailureClass.STREAM_INTERRUPTED:
        return StreamInterrupted(why, failure)
    return _ERRORS[reason](why, failure)


@dataclass(frozen=True, slots=True)
class Answered(Generic[Value]):
    """The model ended by itself, with `text`.

    `value` is what it says, of the type that the session has as `answer`; it is stored nowhere.
    """

    text: str
    conversation: Conversation
    usage: Usage
    run_id: str
    reason: Literal["natural"] = "natural"
    value: Value = field(default=cast("Any", None), init=False, compare=False, repr=False)

    def with_value(self, value: Value) -> Answered[Value]:
        """The same, with the value of its text."""
        valued = replace(self)
        object.__setattr__(valued, "value", value)
        return valued


@dataclass(frozen=True, slots=True)
class Refused:
    """The model declined. `details` are the provider's; `text` is what was said so far."""

    text: str
    conversation: Conversation
    usage: Usage
    run_id: str
    details: Mapping[str, Any] | None = None
    reason: Literal["model_refusal"] = "model_refusal"


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A limit ended the run. `text` is the model's conclusion if it gave one, else what was said so far.

    `why` tells the operator what the reason alone does not: the failure that there was no time to make
    good, the call that brought no progress, a cost that nobody tells.
    """

    text: str
    conversation: Conversation
    usage: Usage
    run_id: str
    reason: ExhaustedReason
    why: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The provider failed, or the answer did not fit its schema.

    `why` is for the operator; `error` is the exception for code that would rather raise.
    """

    text: str
    conversation: Conversation
    usage: Usage
    run_id: str
    reason: FailedReason
    why: str
    failure: CallFailure | None = None

    @property
    def error(self) -> ModelCallError:
        return error_of(self.reason, self.why, self.failure)


@dataclass(frozen=True, slots=True)
class Stopped:
    """The caller ended the run."""

    text: str
    conversation: Conversation
    usage: Usage
    run_id: str
    reason: Literal["stopped"] = "stopped"


@dataclass(frozen=True, slots=True)
class Suspended:
    """A person has yet to answer for `asked`. `snapshot` holds the open round; any process may resume it."""

    text: str
    conversation: Conversation
    usage: Usage
    run_id: str
    asked: tuple[ToolUseBlock, ...]
    snapshot: str
    reason: Literal["suspended"] = "suspended"


Ending: TypeAlias = Answered[Any] | Refused | Exhausted | Failed | Stopped
Outcome: TypeAlias = Ending | Suspended
# The same, where the type of the answer is known.
TypedOutcome: TypeAlias = Answered[Value] | Refused | Exhausted | Failed | Stopped | Suspended
