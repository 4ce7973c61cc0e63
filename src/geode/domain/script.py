"""What a scripted model does, step by step, in words that no provider owns.

A script is a sequence of steps. One script is played in three places: by the scripted model in a
test, by the emulator over real HTTP in a provider's own grammar, and by the compliance suite. So a
step says what happens, never how it looks on a wire.

    (thinks("two files") + says("I read both.") + calls(("read", {"path": "a"}), ("read", {"path": "b"})),
     fails(529, retry_after=1),
     says("Done."))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

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
    return Reply((Said(text),))


def thinks(text: str, signature: str = "sig") -> Reply:
    """The model reasons, with a signature that must come back byte for byte."""
    return Reply((Thought(text, signature),))


def calls(*wanted: tuple[str, Mapping[str, Any] | str | None] | Called) -> Reply:
    """The model calls tools: `calls(("read", {"path": "a"}), Called("read", "{broken", id=""))`."""
    return Reply(tuple(one if isinstance(one, Called) else Called(one[0], one[1]) for one in wanted))


def refuses(text: str = "", category: str = "general_harms") -> Reply:
    """The model declines; a refusal beats any call beside it."""
    return Reply((Said(text),) if text else (), stop="refusal", refusal_category=category)


def pauses(text: str) -> Reply:
    """The provider pauses a long turn that has to be sent back as it is."""
    return Reply((Said(text),), stop="pause")


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


# ---- the same as JSON, for files and command lines ---------------------------------------------

STEP_WORDS: Final = ("says", "thinks", "calls", "refuses", "pauses", "cut", "fails", "hangs", "drops", "malformed")

_DETAILS: Final = ("category", "code", "message", "retry_after", "body", "input_tokens", "output_tokens")


def script_from_json(steps: Sequence[Any]) -> Script:
    """Read a script written as JSON: `[{"says": "hi"}, {"calls": [["read", {"path": "a"}]]}, {"fails": 529}]`.

    Keys of one object are joined into one reply (`{"thinks": …, "says": …, "calls": …, "cut": true}`).
    Raises ValueError that names the step's number and the accepted words.
    """
    return tuple(_step_from_json(number, step) for number, step in enumerate(steps, 1))


def _step_from_json(number: int, step: Any) -> Step:
    if not isinstance(step, Mapping) or not step:
        raise ValueError(f"script step {number} must be an object with one of: {', '.join(STEP_WORDS)}")
    words = cast("Mapping[str, Any]", step)
    unknown = sorted(
        set(words) - {*STEP_WORDS, "category", "code", "message", "retry_after", "body", "input_tokens", "output_tokens"}
    )
    if unknown:
        raise ValueError(f"script step {number} has unknown {', '.join(unknown)}; accepted: {', '.join(STEP_WORDS)}")
    if "fails" in words:
        status = words["fails"]
        if not isinstance(status, int) or isinstance(status, bool):
            raise ValueError(f"script step {number}: fails takes a status number, got {status!r}")
        return fails(
            status,
            words.get("body"),
            code=words.get("code"),
            message=words.get("message", "scripted failure"),
            retry_after=words.get("retry_after"),
        )
    if "hangs" in words:
        return hangs()
    if "drops" in words:
        return drops(words["drops"])
    if "malformed" in words:
        return malformed(words["malformed"])
    return _reply_from_json(number, words)


def _reply_from_json(number: int, words: Mapping[str, Any]) -> Reply:
    reply = Reply()
    if "thinks" in words:
        reply += thinks(words["thinks"])
    if "says" in words:
        reply += says(words["says"])
    if "calls" in words:
        try:
            reply += calls(*(Called(*one) for one in words["calls"]))
        except TypeError as error:
            raise ValueError(
                f"script step {number}: calls takes a list of [name, arguments] or [name, arguments, id]"
            ) from error
    if "refuses" in words:
        reply += refuses(words["refuses"], words.get("category", "general_harms"))
    if "pauses" in words:
        reply += pauses(words["pauses"])
    if words.get("cut"):
        reply = cut(reply)
    return replace(
        reply,
        input_tokens=words.get("input_tokens", reply.input_tokens),
        output_tokens=words.get("output_tokens", reply.output_tokens),
    )
