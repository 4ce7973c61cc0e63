"""Reading requests that somebody else wrote, on any wire: what all readers share.

A reader turns the body of a request into the neutral request and says what stayed behind. What is no
part of a history or of a tool is a setting; the settings that are neutral are read, every other is noted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from geode.adapters.http_json.reading import number, string
from geode.adapters.http_json.tools_gone import without_gone
from geode.domain.choice import Auto, Named, Required, ToolChoice, parse_choice
from geode.domain.content import SILENT, Opaque, Owner, Part, Text, ToolResult, ToolUseBlock, flagged, media_word
from geode.domain.conversation import Conversation
from geode.domain.json_value import exact_json, pointer_part
from geode.domain.request import AdapterCallRequest
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn

NoteKind: TypeAlias = Literal["server_tool", "opaque", "media", "file_id", "sampling", "repaired"]
Path: TypeAlias = tuple[str | int, ...]
Item: TypeAlias = Text | ToolUseBlock | Opaque

# Repairs that change nothing of what is said: ids are geode's business, an empty turn says nothing.
_SILENT_REPAIRS: Final = frozenset({"id_changed", "empty_dropped"})
# Whole numbers beyond this may be beyond any float.
_HOTTEST: Final = 10**15
# A tool that takes no arguments.
_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
# The one argument of the function that stands for a tool of free text.
FREE_TEXT: Final = "input"
FREE_TEXT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {FREE_TEXT: {"type": "string"}},
    "required": [FREE_TEXT],
}


@dataclass(frozen=True, slots=True)
class Note:
    """Something of a request that its neutral form does not hold, or holds otherwise; `at` is a JSON pointer into the body.

    `server_tool`: a tool that the provider runs or defines. `opaque`: an item that only its maker
    understands. `media`: a medium with no neutral form. `file_id`: a reference to what the provider
    keeps. `sampling`: any other setting, a system message inside the history included. `repaired`: the
    history broke the laws and was mended.
    """

    kind: NoteKind
    at: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request as it was read, and what of it is not in `request`.

    Opaque items are in the conversation, for their owner, and noted all the same, for everybody else.
    """

    request: AdapterCallRequest
    notes: tuple[Note, ...] = ()


class Notes:
    """Notes as they are taken."""

    def __init__(self) -> None:
        self.taken: list[Note] = []

    def take(self, kind: NoteKind, path: Path, message: str) -> None:
        self.taken.append(Note(kind, "".join(f"/{pointer_part(str(step))}" for step in path), message))

    def told_by_the_user(self, role: str, path: Path) -> None:
        """A system message that holds from its place on: the neutral system text holds from the start."""
        self.take("sampling", path, f"a {role} message inside the history is told by the user")

    def system_texts(self, parts: Sequence[Part], path: Path) -> list[str]:
        """What of a system message is system text: media have no place in it."""
        for part in parts:
            if not isinstance(part, Text):
                self.take("media", path, f"{media_word(part)} in a system message is not carried")
        return [part.text for part in parts if isinstance(part, Text)]

    def settings(
        self, path: Path, value: Mapping[str, Any], carried: Collection[str], kinds: Mapping[str, NoteKind] | None = None
    ) -> None:
        """Note each field of `value` that says something and is not `carried`; its kind is in `kinds`, or it is a setting."""
        for name, given in value.items():
            if name not in carried and given is not None and given is not False and given not in ("", [], {}):
                self.take((kinds or {}).get(name, "sampling"), (*path, name), f"{name} is not carried")


@dataclass(slots=True)
class History:
    """The turns of a history as they are read: neighbours of one kind are one turn where the wire means them so."""

    owner: Owner
    _parts: list[tuple[str, list[Any]]] = field(default_factory=list[tuple[str, list[Any]]])

    def user(self, parts: Iterable[Part], *, joined: bool = False) -> None:
        self._add("user", parts, joined)

    def model(self, items: Iterable[Item], *, joined: bool = True) -> None:
        self._add("model", items, joined)

    def result(self, result: ToolResult) -> None:
        self._add("results", (result,), True)

    @property
    def last_results(self) -> list[ToolResult]:
        """The results that were read last, if nothing came after them; what is put in their place is taken."""
        return self._parts[-1][1] if self._parts and self._parts[-1][0] == "results" else []

    @property
    def begun(self) -> bool:
        return bool(self._parts)

    def _add(self, kind: str, items: Iterable[Any], joined: bool) -> None:
        if joined and self._parts and self._parts[-1][0] == kind:
            self._parts[-1][1].extend(items)
        elif new := list(items):
            self._parts.append((kind, new))

    def conversation(self, notes: Notes, path: Path) -> Conversation:
        """The conversation, with the laws kept; what had to be mended is noted at `path`, where the history is."""
        turns: list[Turn] = []
        for kind, items in self._parts:
            match kind:
                case "user":
                    turns.append(UserTurn(tuple(items)))
                case "model":
                    turns.append(AssistantTurn(tuple(items), self.owner))
                case _:
                    turns.append(ToolResultsTurn(tuple(_in_call_order(items, turns[-1] if turns else None))))
        talk = Conversation.repaired(turns)
        for repair in talk.repairs:
            if repair.kind not in _SILENT_REPAIRS:
                notes.take("repaired", path, str(repair))
        return talk


def _in_call_order(results: list[ToolResult], before: Turn | None) -> list[ToolResult]:
    """No wire means anything by the order of the results of one turn."""
    calls = before.calls if isinstance(before, AssistantTurn) else ()
    places = {call.id: place for place, call in reversed(list(enumerate(calls)))}
    return sorted(results, key=lambda result: places.get(result.call_id, len(places)))


def result_of(call_id: str, parts: Sequence[Part]) -> ToolResult:
    """The result that says `parts`, on a wire that has no error flag: its first text says the kind."""
    first = next((place for place, part in enumerate(parts) if isinstance(part, Text)), None)
    if first is None:
        return ToolResult(call_id, "ok", tuple(parts))
    kind, text = flagged(cast("Text", parts[first]).text)
    content = (*parts[:first], Text(text), *parts[first + 1 :])
    silent = text == SILENT and any(not isinstance(part, Text) for part in content)
    return ToolResult(call_id, kind, tuple(part for part in content if not (silent and part == Text(SILENT))))


def opaque(owner: Owner, kind: str, value: object) -> Opaque:
    """An item that goes back to `owner` as it came."""
    return Opaque(owner, kind, exact_json(value))


def tool(name: str, given: Mapping[str, Any], schema: object, path: Path, notes: Notes) -> list[ToolSpec]:
    """The one tool that is defined at `path`, its description and strictness in `given`; none for what has no name."""
    if not name.strip():
        notes.take("repaired", path, "a tool without a name is left out")
        return []
    written = cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) and schema else _NO_ARGUMENTS
    fitting = written if written.get("type") == "object" else {**written, "type": "object"}
    return [ToolSpec(name, string(given.get("description")), fitting, given.get("strict") is True)]


def unique(tools: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools in their order, none twice under one name, and without such as stand for tools that are gone."""
    named: dict[str, ToolSpec] = {}
    for one in tools:
        named.setdefault(one.name, one)
    return without_gone(list(named.values()))


def choice(value: object, tools: Sequence[ToolSpec], notes: Notes, path: Path = ("tool_choice",)) -> ToolChoice:
    """The neutral choice. One that needs what is not among `tools` is noted, and left to the model."""
    if value is None:
        return Auto()
    wanted = parse_choice(value).value_or(None)
    if wanted is None:
        wanted = _of_several(value, notes, path)
    names = {tool.name for tool in tools}
    if (
        wanted is None
        or (isinstance(wanted, Named) and wanted.name not in names)
        or (isinstance(wanted, Required) and not names)
    ):
        notes.take("server_tool", path, "the choice needs a tool that is not carried; the model chooses")
        return Auto()
    return wanted


def _of_several(value: object, notes: Notes, path: Path) -> ToolChoice | None:
    """The choice among allowed tools: its mode; which of the tools are allowed has no neutral form."""
    outer: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
    if outer.get("type") != "allowed_tools":
        return None
    inner = outer.get("allowed_tools")
    held: Mapping[str, Any] = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else outer
    notes.take("sampling", path, "allowed_tools: all tools are carried, none is forbidden")
    return Required() if held.get("mode") == "required" else Auto()


def bound(value: object) -> int | None:
    """A limit of tokens, or None."""
    return number(value) or None


def temperature(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > _HOTTEST:
        return None
    return float(value)


def joined_text(texts: Iterable[str]) -> str:
    """System texts that came in several pieces, as one."""
    return "\n\n".join(text for text in texts if text.strip())


def placed(value: object) -> list[tuple[int, Mapping[str, Any]]]:
    """The objects of a list with their places."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [(place, cast("Mapping[str, Any]", one)) for place, one in enumerate(listed) if isinstance(one, Mapping)]


def blocks(content: object) -> list[tuple[int, Mapping[str, Any]]]:
    """The blocks of a content with their places; a text, alone or in the list, is a block of text."""
    listed = cast("list[object]", content) if isinstance(content, list) else [content]
    return placed([{"type": "text", "text": one} if isinstance(one, str) else one for one in listed])
