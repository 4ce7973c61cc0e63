"""What the adapter needs of a program, and what both programs have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from returns.result import Result

from geode.adapters.text_cli.process import Event, Folder, Invocation, Ran
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.domain.request import Capabilities

Mode: TypeAlias = Literal["api_key", "subscription"]
Answer: TypeAlias = Result[AdapterCallResult, CallFailure]
# The type of error that a server would name: what was to be sent is wrong, and would be wrong again.
OURS: Final = "invalid_request_error"


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as a program is asked it.

    `schema` is the JSON text of the answer's schema, or "". Who pays is `mode`: by `key`, or by the login that the
    program keeps in the folder `login`. `base_url` "" is the program's own address. `seconds` bound the call.
    """

    model: str
    prompt: str = field(repr=False)
    system: str = field(repr=False)
    schema: str
    effort: str
    mode: Mode
    key: str = field(repr=False)
    login: str
    base_url: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TextProgram:
    """A program that this adapter knows. `problem` is why a call cannot be asked of it, "" or a failure's facts;
    `answer` is None where what it printed does not say how the call ended. A prompt that begins with `command_mark`, if
    that is not "", it would take for a command. After an event that is `hopeless` it would only try again, by itself."""

    word: str
    capabilities: Capabilities
    command_mark: str
    problem: Callable[[Asked], CallFailure | None]
    invocation: Callable[[Asked, Folder], Invocation]
    answer: Callable[[Asked, Ran], Answer | None]
    hopeless: Callable[[Event], bool] = lambda _: False


def common_problem(asked: Asked, program: str, most: int, size: int, unit: str) -> CallFailure | None:
    """What no program can be asked: a model whose name is an option, a prompt that is longer than it reads."""
    if asked.model.startswith("-") or not asked.model.strip():
        return not_asked(f"{program} cannot be asked for a model called {asked.model!r:.80}")
    if size > most:
        message = f"{program} reads a prompt of at most {most} {unit}, this one has {size}"
        return CallFailure(None, "connect", message, OURS, "prompt_too_long")
    return None


def not_asked(message: str, way_out: str = "") -> CallFailure:
    """The facts where the program was not started: trying again would change nothing."""
    return CallFailure(None, "connect", message, OURS, way_out=way_out)
