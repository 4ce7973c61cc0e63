"""What the loop wants done next. A state has exactly one of these pending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from geode.domain.choice import ToolChoice
from geode.domain.content import Owner
from geode.domain.loop.outcome import Ending, ExhaustedReason


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model. `wrap_up` names the budget that is running out when the model must conclude now."""

    round: int
    attempt: int
    tool_choice: ToolChoice
    wrap_up: ExhaustedReason | None
    max_output_tokens: int | None
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class RunStage:
    """Run the calls `start` side by side; meanwhile, ask about the calls `ask` in one question and check the calls `check`.

    What is run, asked and checked is the call as the open round has it, which is another tool's while
    one stands in. The action changes as answers and results come in; what has been started or asked stays so.
    """

    start: tuple[str, ...]
    ask: tuple[str, ...]
    timeout_seconds: float | None = None
    check: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for `seconds`, then make attempt `call.attempt`."""

    seconds: float
    call: CallModel


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Go on with the model `to`: the one that was asked failed for good, as `why` says; then `call` is made of it."""

    to: Owner
    why: str
    call: CallModel


@dataclass(frozen=True, slots=True)
class Compact:
    """Have the conversation, which was too long for `call`, made shorter; then `call` is made again. `why`: what was said.

    `ahead`: it fills much of the window and was not refused yet, so that `call` is made in any case.
    """

    call: CallModel
    why: str
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class Suspend:
    """Store the state and give the run back to the caller until a person has answered for `asked`."""

    asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over."""

    outcome: Ending


Action: TypeAlias = CallModel | RunStage | Wait | SwitchModel | Compact | Suspend | Finish
