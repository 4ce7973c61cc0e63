"""What a request says, judged from its neutral rows: an independent reading of the laws of a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from geode.domain.content import Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn

Row: TypeAlias = Mapping[str, Any]
_FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class Spoken:
    """What one side said between two others: its text, and the model's calls."""

    who: str
    text: str
    calls: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Result:
    text: str
    failed: bool | None = None


Said: TypeAlias = Spoken | Result


@dataclass
class Structure:
    """Which calls are open while rows are read; `problems` are breaches of pairing, `ids` those of ids."""

    problems: list[str] = field(default_factory=list[str])
    ids: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    open: list[str] = field(default_factory=list[str])
    answered: bool = False

    def read(self, rows: Sequence[Row]) -> None:
        for row in rows:
            match row["who"]:
                case "bot":
                    self._bot(row)
                case "tool":
                    self._tool(str(row["id"]))
                case "human":
                    self._close("something the user said")
                case other:
                    self.problems.append(f'a row of view() has who {other!r}; it is one of "human", "bot", "tool"')
        self._close("the end")

    def _bot(self, row: Row) -> None:
        if self.answered:
            self._close("the next turn of the model")
        for call in row.get("calls") or ():
            id = str(call["id"])
            if not id or id in self.asked:
                self.ids.append(f"the id {id!r} is empty or was used before")
            self.asked.append(id)
            self.open.append(id)

    def _tool(self, id: str) -> None:
        self.answered = True
        if id not in self.open:
            self.problems.append(f"the result {id!r} answers no open call; open are {self.open}")
            return
        if self.open[0] != id:
            self.problems.append(f"the result {id!r} stands before that of {self.open[0]!r}")
        self.open.remove(id)

    def _close(self, before: str) -> None:
        self.problems += [f"the call {id!r} has no result before {before}" for id in self.open]
        self.open, self.answered = [], False


def structure(rows: Sequence[Row]) -> Structure:
    found = Structure()
    found.read(rows)
    return found


def arguments(rows: Sequence[Row]) -> list[str]:
    """Calls whose arguments are no object."""
    made = (call for row in rows for call in row.get("calls") or ())
    return [f"the arguments of {call['fn']!r} are {call['args']!r}" for call in made if not isinstance(call["args"], Mapping)]


def said(rows: Sequence[Row]) -> list[Said]:
    """What the rows say, neighbours of one side joined and white space left out."""
    return list(_joined(_of_rows(rows)))


def expected(conversation: Conversation) -> list[Said]:
    """What a request has to say for `conversation`."""
    return list(_joined(_of_turns(conversation)))


def _of_rows(rows: Sequence[Row]) -> Iterator[Said]:
    for row in rows:
        text = str(row.get("say") or "")
        if row["who"] == "tool":
            yield Result(text, row.get("failed"))
        else:
            calls = tuple((str(call["fn"]), call["args"]) for call in row.get("calls") or ())
            yield Spoken(row["who"], text, calls)


def _of_turns(conversation: Conversation) -> Iterator[Said]:
    for turn in conversation.turns:
        match turn:
            case UserTurn():
                texts = [item.text for item in turn.items if isinstance(item, Text)]
                yield Spoken("human", "".join([*texts, *(hint.text for hint in turn.hints)]))
            case AssistantTurn():
                yield Spoken("bot", turn.text, tuple((call.name, _input(call)) for call in turn.calls))
            case ToolResultsTurn():
                yield from (Result(result.text, result.is_error) for result in turn.results)
                yield Spoken("human", "".join(hint.text for hint in turn.hints))


def _input(call: ToolUseBlock) -> Any:
    return call.input if call.unparsed is None else None


def _joined(parts: Iterator[Said]) -> Iterator[Said]:
    last: Spoken | None = None
    for given in parts:
        part = replace(given, text="".join(given.text.split()))
        if isinstance(part, Spoken):
            if not part.text and not part.calls:
                continue
            if last is not None and last.who == part.who:
                last = Spoken(last.who, last.text + part.text, last.calls + part.calls)
                continue
        if last is not None:
            yield last
        last = part if isinstance(part, Spoken) else None
        if isinstance(part, Result):
            yield part
    if last is not None:
        yield last


def differences(found: Sequence[Said], wanted: Sequence[Said]) -> list[str]:
    """Where a request does not say what it should. The text of a result may say more: its kind, where the pictures are."""
    if len(found) != len(wanted):
        return [f"it says {len(found)} things and should say {len(wanted)}: {found} instead of {wanted}"]
    pairs = zip(found, wanted, strict=True)
    return [f"it says {one} and should say {other}" for one, other in pairs if not _same(one, other)]


def _same(found: Said, wanted: Said) -> bool:
    match found, wanted:
        case Result(), Result():
            return wanted.text in found.text and found.failed in (None, wanted.failed)
        case Spoken(), Spoken():
            return (
                (found.who, found.text) == (wanted.who, wanted.text)
                and len(found.calls) == len(wanted.calls)
                and all(_same_call(one, other) for one, other in zip(found.calls, wanted.calls, strict=True))
            )
        case _:
            return False


def _same_call(found: tuple[str, Any], wanted: tuple[str, Any]) -> bool:
    """Broken arguments may go out as any object."""
    return _same_name(found[0], wanted[0]) and (wanted[1] is None or found[1] == wanted[1])


def _same_name(found: str, wanted: str) -> bool:
    """A name that providers refuse may have become one that begins like it, with its other characters replaced."""
    unfit = _FITS.fullmatch(wanted) is None
    return found == wanted or (unfit and _FITS.fullmatch(found) is not None and found.startswith(_UNFIT.sub("_", wanted)[:40]))


def strings(value: Any) -> set[str]:
    """Every text in a JSON value, keys included."""
    match value:
        case str():
            return {value}
        case dict():
            return {text for key, item in value.items() for text in ({key} | strings(item))}
        case list():
            return {text for item in value for text in strings(item)}
        case _:
            return set()
