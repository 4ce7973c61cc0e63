"""Which media of a conversation a provider can be shown, and the words for those that it cannot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count, groupby

from geode.domain.content import Document, Image, Media, Part, Text, media_kind, media_word
from geode.domain.conversation import Conversation
from geode.domain.request import Capabilities
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, parts_of


@dataclass(frozen=True, slots=True)
class Shown:
    """The media of a conversation, looked for once: `seen` turns are done, and what grows from it goes on there.

    `pictures` are all that it holds, each with the place of its turn.
    """

    seen: int = 0
    by_users: tuple[tuple[int, Media], ...] = ()
    in_results: tuple[Media, ...] = ()
    pictures: tuple[tuple[int, Image], ...] = ()


def shown(conversation: Conversation) -> Shown:
    known: Shown = conversation.memo.get("media", Shown())
    turns = conversation.turns
    if known.seen == len(turns):
        return known
    new = list(enumerate(turns[known.seen :], known.seen))
    users = ((place, part) for place, turn in new if isinstance(turn, UserTurn) for part in turn.items)
    results = (one for _, turn in new if isinstance(turn, ToolResultsTurn) for one in turn.results)
    found = conversation.memo["media"] = Shown(
        len(turns),
        (*known.by_users, *((place, part) for place, part in users if not isinstance(part, Text))),
        (*known.in_results, *(part for one in results for part in one.media)),
        (*known.pictures, *((place, part) for place, turn in new for part in parts_of(turn) if isinstance(part, Image))),
    )
    return found


def carried(part: Media, able: Capabilities) -> bool:
    return media_kind(part) in able.media


def with_words(conversation: Conversation, able: Capabilities) -> tuple[Conversation, str] | None:
    """The conversation with words for what cannot be shown, and what that is; None where all can be."""
    surplus = _surplus(conversation, able)
    if not surplus and all(_stays(part, able) for part in shown(conversation).in_results):
        return None
    turns = tuple(_worded(turn, able, surplus.get(place, ())) for place, turn in enumerate(conversation.turns))
    what = "all pictures: words about the oldest, or too large," if surplus else "what a tool gave: words about it"
    return Conversation(turns, conversation.repairs), what


def _surplus(conversation: Conversation, able: Capabilities) -> Mapping[int, Collection[int]]:
    """Which pictures stay behind, by turn: their numbers among the pictures of that turn."""
    turns, pictures = conversation.turns, shown(conversation).pictures
    numbered = [
        (place, number) for place, of_turn in groupby(pictures, key=lambda pair: pair[0]) for number, _ in enumerate(of_turn)
    ]
    sent = [at for at, (place, picture) in enumerate(pictures) if isinstance(turns[place], UserTurn) or _stays(picture, able)]
    found: dict[int, set[int]] = {}
    for at in able.pictures.surplus([pictures[at][1].data for at in sent]):
        place, number = numbered[sent[at]]
        found.setdefault(place, set()).add(number)
    return found


def _stays(part: Part, able: Capabilities) -> bool:
    return isinstance(part, Text) or (able.images != "none" and carried(part, able))


def _worded(turn: Turn, able: Capabilities, surplus: Collection[int]) -> Turn:
    if not surplus and all(_stays(part, able) for part in parts_of(turn)):
        return turn
    numbers = count()

    def said(part: Part) -> Part:
        if isinstance(part, Image) and next(numbers) in surplus:
            why = able.pictures.problem(part.data) or "a request takes no more pictures than it has"
            return Text(f"[{media_word(part)}: not shown; {why}]")
        return part if isinstance(turn, UserTurn) or _stays(part, able) else in_words(part)

    match turn:
        case UserTurn():
            return replace(turn, items=tuple(map(said, turn.items)))
        case ToolResultsTurn():
            results = tuple(replace(one, content=tuple(map(said, one.content))) for one in turn.results)
            return replace(turn, results=results)
        case AssistantTurn():
            return turn


def in_words(part: Media | Text) -> Text:
    """What stands for a medium that cannot be shown: of a plain text what it says, of any other what it is."""
    if isinstance(part, Document) and part.is_text:
        return Text(part.told)
    return part if isinstance(part, Text) else Text(f"[{media_word(part)}: this model cannot be shown it]")
