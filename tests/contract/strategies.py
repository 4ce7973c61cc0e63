"""Conversations without end: a strategy for histories that no list holds."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from geode.domain.arguments import tool_use
from geode.domain.content import Media, Opaque, Owner, ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn
from geode.entrypoints.compliance.histories import FOREIGN, GIF, LINK, PDF, PNG, MakeOpaque, user

_TEXT: Final = st.text(max_size=12)
_IDS: Final = st.one_of(st.sampled_from(["call_0", "call_1", "", "a:b|c", "y" * 80]), st.text(max_size=6))
_NAMES: Final = st.one_of(st.sampled_from(["read", "list_files", "read file", "z" * 70]), st.text(max_size=6))
_VALUES: Final = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_TEXT, inner, max_size=2)),
    max_leaves=4,
)
_ARGUMENTS: Final = st.one_of(st.dictionaries(_TEXT, _VALUES, max_size=3), st.sampled_from(["", "{", '{"a": 1}', "[]"]), _TEXT)
_KINDS: Final[st.SearchStrategy[ResultKind]] = st.sampled_from(
    ("ok", "ok", "failed", "denied", "interrupted", "outcome_unknown")
)
_MEDIA: Final[st.SearchStrategy[Media]] = st.sampled_from([PNG, GIF, PDF, LINK])
_CONTENT: Final = st.lists(st.one_of(_TEXT.map(Text), _MEDIA), max_size=3).map(tuple)
_HINTS: Final = st.lists(_TEXT.map(lambda text: Hint("wrap_up", text)), max_size=2).map(tuple)


def conversations(me: Owner, make: MakeOpaque, *, most: int = 5) -> st.SearchStrategy[Conversation]:
    """Conversations with turns of `me`, of another model and of another adapter, as `repaired` leaves them.

    They end with something to answer.
    """
    owners = st.sampled_from([me, me, Owner(me.adapter, "another-model"), FOREIGN, None])
    users = st.builds(UserTurn, _CONTENT, _HINTS)

    @st.composite
    def rounds(draw: st.DrawFn) -> list[Turn]:
        owner = draw(owners)
        items: list[Text | ToolUseBlock | Opaque] = []
        if owner is not None and draw(st.booleans()):
            items.append(make(owner, draw(st.integers(0, 9))))
        items += draw(st.lists(_TEXT.map(Text), max_size=1))
        asked = draw(st.lists(st.builds(tool_use, _IDS, _NAMES, _ARGUMENTS), max_size=3))
        items += asked
        found = tuple(ToolResult(one.id, draw(_KINDS), draw(_CONTENT)) for one in asked if draw(st.integers(0, 4)))
        turns: list[Turn] = [AssistantTurn(tuple(items), owner)]
        if found:
            turns.append(ToolResultsTurn(found, draw(_HINTS)))
        return turns if asked else [*turns, draw(users)]

    def whole(first: UserTurn, following: list[list[Turn]]) -> Conversation:
        # The first turn says something: every provider wants that.
        return Conversation.repaired([user("go"), first, *(turn for one in following for turn in one), user("and?")])

    return st.builds(whole, users, st.lists(rounds(), max_size=most))
