"""The turns that a conversation is made of, before any law is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias, cast

from geode.domain.content import Opaque, Owner, Part, Text, ToolResult, ToolUseBlock, calls_in
from geode.domain.json_value import clean_text

HintKind: TypeAlias = Literal["wrap_up", "backpressure", "no_progress", "answer", "summary"]


@dataclass(frozen=True, slots=True, eq=False)
class Hint(str):
    """Something geode tells the model: user text at the end of a turn, after all results.

    It is its text, so that an adapter sends it like any other, and knows its kind.
    """

    kind: HintKind
    text: str

    def __new__(cls, kind: HintKind, text: str) -> Self:
        return str.__new__(cls, clean_text(text))

    def __reduce__(self) -> tuple[type[Hint], tuple[HintKind, str]]:
        return Hint, (self.kind, self.text)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", str.__str__(self))

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True and (not isinstance(other, Hint) or self.kind == other.kind)

    # A text has one of its own, which asks nobody.
    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user said."""

    items: tuple[Part, ...]
    hints: tuple[Hint, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(item.text for item in self.items if isinstance(item, Text))


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """What the model said, called and thought, in the order received."""

    items: tuple[Text | ToolUseBlock | Opaque, ...]
    made_by: Owner | None = None
    calls: tuple[ToolUseBlock, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", calls_in(self.items))

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.items if isinstance(item, Text))


@dataclass(frozen=True, slots=True)
class ToolResultsTurn:
    """The results of the turn before, in call order, then hints."""

    results: tuple[ToolResult, ...]
    hints: tuple[Hint, ...] = ()


Turn: TypeAlias = UserTurn | AssistantTurn | ToolResultsTurn


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that `Conversation.repaired` mended: what, in which turn of the input, of which call."""

    kind: Literal["interrupted", "orphan_dropped", "duplicate_dropped", "reordered", "id_changed", "empty_dropped"]
    turn: int
    call_id: str = ""

    def __str__(self) -> str:
        return f"turn {self.turn}: {self.kind.replace('_', ' ')}{f' ({self.call_id})' if self.call_id else ''}"


def visible(items: Sequence[Part], hints: Sequence[Hint] = ()) -> tuple[Part, ...]:
    """What of `items`, then of `hints`, goes out: blank texts do not, for there are servers that refuse them."""
    said = (*items, *(Text(hint.text) for hint in hints))
    return tuple(part for part in said if not isinstance(part, Text) or part.text.strip())


def flagged_parts(result: ToolResult) -> tuple[Part, ...]:
    """What goes out of a result on a wire that has no error flag and takes media in results: the first text says the kind.

    `geode.domain.content.flagged` reads it back.
    """
    parts, text = visible(result.content), result.flagged_text
    flag = text.removesuffix(result.text)
    first = next((place for place, part in enumerate(parts) if isinstance(part, Text)), None)
    if first is None:
        return (Text(text), *parts)
    if not flag:
        return parts
    return (*parts[:first], Text(f"{flag}{cast('Text', parts[first]).text}"), *parts[first + 1 :])


def parts_of(turn: Turn) -> tuple[Part, ...]:
    """The texts and media that users and tools put into the turn, in order."""
    match turn:
        case UserTurn():
            return turn.items
        case AssistantTurn():
            return ()
        case ToolResultsTurn():
            return tuple(part for result in turn.results for part in result.content)


def hints_of(turns: Iterable[Turn]) -> tuple[Hint, ...]:
    """Every hint in `turns`, in order."""
    return tuple(hint for turn in turns if not isinstance(turn, AssistantTurn) for hint in turn.hints)


def says_nothing(turn: AssistantTurn) -> bool:
    """Whether the turn holds neither a call, nor an opaque item, nor text that is more than blanks."""
    return not any(not isinstance(item, Text) or item.text.strip() for item in turn.items)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A list of turns whose laws are not checked: what a store holds."""

    turns: tuple[Turn, ...] = ()
