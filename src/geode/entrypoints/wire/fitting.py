"""What a target takes of a request that was made for another one.

A run refuses what its model cannot carry. A request that is moved is fitted instead: the settings that
speak against it, by what adapters know of models and by the rules of the servers, are left out, media
become words, and each of these is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from geode.adapters.http_json.history import Note, NoteKind
from geode.domain.choice import Auto
from geode.domain.content import Image, Part, Text, ToolResult, media_kind, media_word
from geode.domain.conversation import Conversation
from geode.domain.negotiation import Adjustment, negotiate
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.sent_media import in_words
from geode.domain.sent_tools import sent_schema
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Turn, UserTurn, parts_of
from geode.entrypoints.emulator.rule import Violation

_KINDS: Final[dict[str, NoteKind]] = {"media_left_out": "media", "thinking_dropped": "opaque"}


@dataclass(frozen=True, slots=True)
class Fitting:
    """The target as its adapter declares it, and what its server refuses of a request.

    `places` are JSON pointers into the source, of the history and the settings.
    """

    adapter: str
    able: Capabilities
    judge: Callable[[AdapterCallRequest], Sequence[Violation]]
    places: Mapping[str, str]

    @property
    def history(self) -> str:
        return self.places["history"]

    def fitted(self, request: AdapterCallRequest) -> tuple[AdapterCallRequest, tuple[Note, ...]]:
        """The request as the target takes it, and a note for each thing that it does not."""
        notes: list[Note] = []
        request = self._spoken(self._shown(self._defined(request, notes), notes), notes)
        while (problem := self._problem(request)) is not None:
            better = next(((name, one) for name, one in _weaker(request) if self._problem(one) != problem), None)
            if better is None:
                return request, tuple(notes)
            name, request = better
            notes.append(Note("sampling", self.places[name], problem))
        negotiated = negotiate(self.adapter, request, self.able).unwrap()
        notes += map(self._adjusted, negotiated.adjustments)
        return self._accepted(negotiated.request, notes), tuple(notes)

    def _accepted(self, request: AdapterCallRequest, notes: list[Note]) -> AdapterCallRequest:
        """Without the settings that the server refuses; what is refused for anything else stays."""
        found = self.judge(request)
        while found:
            weaker = ((name, one, self.judge(one)) for name, one in _weaker(request))
            better = next(((name, one, rest) for name, one, rest in weaker if len(rest) < len(found)), None)
            if better is None:
                return request
            name, request, rest = better
            gone = {violation.rule for violation in found} - {violation.rule for violation in rest}
            why = next(violation for violation in found if violation.rule in gone or not gone)
            notes.append(Note("sampling", self.places[name], why.message))
            found = rest
        return request

    def _problem(self, request: AdapterCallRequest) -> str | None:
        return negotiate(self.adapter, request, self.able).swap().value_or(None)

    def _adjusted(self, adjustment: Adjustment) -> Note:
        return Note(_KINDS[adjustment.kind], self.history, adjustment.text)

    def _defined(self, request: AdapterCallRequest, notes: list[Note]) -> AdapterCallRequest:
        """With its schemas as they are: a tool is strict only where that changes nothing of its own."""
        able, tools = self.able.schemas, list[ToolSpec]()
        for place, tool in enumerate(request.tools):
            loose = replace(tool, strict=False)
            changed = tool.strict and able is not None and sent_schema(tool, able) != sent_schema(loose, able)
            if changed:
                what = f"tool {tool.name} cannot be strict there with the schema that it has"
                notes.append(Note("sampling", f"{self.places['tools']}/{place}", what))
            tools.append(loose if changed else tool)
        return replace(request, tools=tuple(tools))

    def _spoken(self, request: AdapterCallRequest, notes: list[Note]) -> AdapterCallRequest:
        """With a message in it: there are wires that take no request of system text alone."""
        if request.turns or not request.system.strip():
            return request
        notes.append(Note("sampling", self.history, "there is no message, so the system text is told by the user"))
        return replace(request, system="", conversation=Conversation((UserTurn((Text(request.system),)),)))

    def _shown(self, request: AdapterCallRequest, notes: list[Note]) -> AdapterCallRequest:
        """With the media that the target has a form for; the others become words, a text its own."""
        if all(self._carried(part) for turn in request.turns for part in parts_of(turn)):
            return request
        turns: list[Turn] = []
        for place, turn in enumerate(request.turns):
            left = [media_word(part) for part in parts_of(turn) if not isinstance(part, Text) and not self._carried(part)]
            notes += [Note("media", self.history, f"turn {place}: {word} becomes words on this wire") for word in left]
            turns.append(self._worded(turn) if left else turn)
        return replace(request, conversation=Conversation(tuple(turns), request.conversation.repairs))

    def _carried(self, part: Part) -> bool:
        if isinstance(part, Image) and self.able.pictures.problem(part.data):
            return False
        return isinstance(part, Text) or media_kind(part) in self.able.media

    def _worded(self, turn: Turn) -> Turn:
        match turn:
            case UserTurn():
                return replace(turn, items=tuple(map(self._words, turn.items)))
            case AssistantTurn():
                return turn
            case _:
                return replace(turn, results=tuple(map(self._words_of, turn.results)))

    def _words_of(self, result: ToolResult) -> ToolResult:
        return replace(result, content=tuple(map(self._words, result.content)))

    def _words(self, part: Part) -> Part:
        return part if isinstance(part, Text) or self._carried(part) else in_words(part)


def _weaker(request: AdapterCallRequest) -> Iterator[tuple[str, AdapterCallRequest]]:
    """The request with one setting less and the name of that setting, what matters least first."""
    if any(tool.strict for tool in request.tools):
        yield "tools", replace(request, tools=tuple(replace(tool, strict=False) for tool in request.tools))
    if request.temperature is not None:
        yield "temperature", replace(request, temperature=None)
    if request.thinking is not None:
        yield "thinking", replace(request, thinking=None)
    if request.effort is not None:
        yield "effort", replace(request, effort=None)
    if request.effort != "none":
        yield "effort", replace(request, effort="none")
    if request.tool_choice != Auto():
        yield "tool_choice", replace(request, tool_choice=Auto())
