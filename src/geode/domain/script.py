"""What a scripted model does, step by step, in words that no provider owns.

A script is a sequence of steps. One script is played in three places: by the scripted model in a
test, by the emulator over real HTTP in a provider's own grammar, and by the compliance suite. So a
step says what happens, never how it looks on a wire.

    (thinks("two files") + says("I read both.") + calls(("read", {"path": "a"}), ("read", {"path": "b"})),
     fails(529, retry_after=1),
     says("Done."))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeAlias

from geode.domain.errors import Misuse

ReplyStop: TypeAlias = Literal["end", "tool_calls", "max_tokens", "refusal", "pause", "context_exceeded", "content_filter"]
DropPoint: TypeAlias = Literal["connect", "headers", "before_output", "after_output", "before_end"]
MalformedKind: TypeAlias = Literal["html", "not_json", "error_in_200", "error_in_stream", "empty", "wrong_shape"]


@dataclass(frozen=True, slots=True)
class Said:
    """Visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning with the signature that the provider binds to it."""

    text: str
    signature: str = "sig"


@dataclass(frozen=True, slots=True)
class Called:
    """One tool call. `arguments` is an object, or the exact argument text, or None for absent.

    `id` None lets the player mint one; any other value, the empty string included, is sent as it is.
    """

    name: str
    arguments: Mapping[str, Any] | str | None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer of the model. `stop` None means: tool_calls if anything is called, else end."""

    items: tuple[Said | Thought | Called, ...] = ()
    stop: ReplyStop | None = None
    input_tokens: int = 10
    output_tokens: int = 5
    refusal_category: str | None = None

    def __add__(self, other: Reply) -> Reply:
        return replace(other, items=self.items + other.items, stop=other.stop or self.stop)

    @property
    def stop_word(self) -> ReplyStop:
        if self.stop is not None:
            return self.stop
        return "tool_calls" if any(isinstance(item, Called) for item in self.items) else "end"


@dataclass(frozen=True, slots=True)
class Fails:
    """The server answers with an error status. `body` None lets the player write the wire's own envelope."""

    status: int
    body: Mapping[str, Any] | str | None = None
    code: str | None = None
    message: str = "scripted failure"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Hangs:
    """The server says nothing until the client gives up."""


@dataclass(frozen=True, slots=True)
class Drops:
    """The connection is cut at this point of the reply."""

    at: DropPoint = "after_output"
    reply: Reply = Reply((Said("cut off in the middle of a sentence"),))


@dataclass(frozen=True, slots=True)
class Malformed:
    """A status of 200 with a body that is not an answer."""

    kind: MalformedKind = "html"


Step: TypeAlias = Reply | Fails | Hangs | Drops | Malformed
Script: TypeAlias = tuple[Step, ...]


def says(text: str) -> Reply:
    """The model says `text`; alone, that ends a run."""
    return Reply((Said(_text("says", text)),))


def thinks(text: str, signature: str = "sig") -> Reply:
    """The model reasons, with a signature that must come back byte for byte."""
    return Reply((Thought(_text("thinks", text), _text("thinks(signature=…)", signature)),))


def calls(*wanted: tuple[str, Mapping[str, Any] | str | None] | Called) -> Reply:
    """The model calls tools: `calls(("read", {"path": "a"}), Called("read", "{broken", id=""))`."""
    return Reply(tuple(one if isinstance(one, Called) else _called(one) for one in wanted))


def refuses(text: str = "", category: str = "general_harms") -> Reply:
    """The model declines; a refusal beats any call beside it."""
    return Reply((Said(text),) if _text("refuses", text) else (), stop="refusal", refusal_category=category)


def pauses(text: str) -> Reply:
    """The provider pauses a long turn that has to be sent back as it is."""
    return Reply((Said(_text("pauses", text)),), stop="pause")


def cut(reply: Reply) -> Reply:
    """`reply`, ended by the output limit."""
    return replace(reply, stop="max_tokens")


def fails(
    status: int,
    body: Mapping[str, Any] | str | None = None,
    *,
    code: str | None = None,
    message: str = "scripted failure",
    retry_after: float | str | None = None,
) -> Fails:
    """The server answers with `status`; `retry_after` is sent as the header of that name."""
    if not is_status(status):
        _refuse(f"fails takes a status of HTTP (100 to 599), got {status!r}")
    headers = () if retry_after is None else (("retry-after", str(retry_after)),)
    return Fails(status, body, code, message, headers)


def hangs() -> Hangs:
    """The server never answers."""
    return Hangs()


def drops(at: DropPoint = "after_output", reply: Reply | None = None) -> Drops:
    """The connection breaks at `at`."""
    return Drops(at) if reply is None else Drops(at, reply)


def malformed(kind: MalformedKind = "html") -> Malformed:
    """A 200 that carries no answer."""
    return Malformed(kind)


def is_status(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599


def step_problem(step: object) -> str:
    """Why `step` is no step of a script, with the way out; "" for a step."""
    if isinstance(step, Reply | Fails | Hangs | Drops | Malformed):
        return ""
    if isinstance(step, str):
        return f"a step is no text: says({step[:40]!r})"
    if isinstance(step, list | tuple):
        return "steps are given one by one, not as a list: ScriptedModel(*steps)"
    if callable(step):
        name = getattr(step, "__name__", "…")
        return f"{name} is no step, {name}(…) is one"
    return f"a step is made by says(…), calls(…), fails(…), …; got {type(step).__name__}"


def _text(what: str, text: object) -> str:
    if not isinstance(text, str):
        _refuse(f"{what} takes a text, got {type(text).__name__}")
    return text


def _called(pair: object) -> Called:
    match pair:
        case (str(name), Mapping() | str() | None as arguments):
            return Called(name, arguments)
        case _:
            return _refuse(f'calls takes pairs of a name and arguments: calls(("read", {{"path": "a"}})); got {pair!r:.80}')


def _refuse(message: str) -> NoReturn:
    raise Misuse("script-step", message)
