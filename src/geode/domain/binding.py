"""Thinking that holds only after the very prefix it was made after (spec section 3, law 3; wire facts C1.9).

Some models sign their thinking together with everything that stood before it: the system text, the tools,
the earlier turns. When any of that has changed, the provider refuses the whole request. So an opaque item
remembers what it was made after, and all items up to the last one that no longer fits stay behind: never
some of them. What was made after that change goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from geode.domain.codec import dumps
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.reply import ReplyItem
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import AssistantTurn, Transcript, Turn, says_nothing


def bound(items: tuple[ReplyItem, ...], request: AdapterCallRequest) -> tuple[ReplyItem, ...]:
    """`items` of the reply to `request`, the opaque ones remembering what they were made after."""
    after = _prefixes(request)[-1]
    return tuple(replace(item, bound_to=after) if isinstance(item, Opaque) else item for item in items)


def without_unbound(request: AdapterCallRequest, owner: Owner) -> AdapterCallRequest:
    """`request` without the items of `owner` that the provider would refuse; the very same when there are none."""
    prefixes = _prefixes(request)
    stale = [
        place
        for place, turn in enumerate(request.turns)
        for item in _opaque(turn)
        if item.owner == owner and item.bound_to != prefixes[place]
    ]
    if not stale:
        return request
    kept = (_stripped(turn, owner) if place <= stale[-1] else turn for place, turn in enumerate(request.turns))
    turns = tuple(turn for turn in kept if not isinstance(turn, AssistantTurn) or not says_nothing(turn))
    return replace(request, conversation=Conversation(turns, request.conversation.repairs))


def _opaque(turn: Turn) -> Iterable[Opaque]:
    return (item for item in turn.items if isinstance(item, Opaque)) if isinstance(turn, AssistantTurn) else ()


def _stripped(turn: Turn, owner: Owner) -> Turn:
    if not isinstance(turn, AssistantTurn):
        return turn
    return replace(turn, items=tuple(item for item in turn.items if not isinstance(item, Opaque) or item.owner != owner))


def _prefixes(request: AdapterCallRequest) -> Sequence[str]:
    """A fingerprint of what stands before each turn, and one of all of it.

    Opaque items are left out of it: what is dropped of them must not undo what was made later.
    """
    tools = [[tool.name, tool.description, tool.input_schema, tool.strict] for tool in request.tools]
    head = dump_json([request.system, tools, *([sorted(request.deferred)] if request.deferred else [])])
    key = f"prefix {_digest('', head)}"
    prefixes = [*request.conversation.memo.get(key, (_digest("", head),))]
    for turn in request.turns[len(prefixes) - 1 :]:
        prefixes.append(_after(prefixes[-1], turn))
    request.conversation.memo[key] = prefixes
    return prefixes


def _after(before: str, turn: Turn) -> str:
    """A turn of opaque items alone leaves no trace: it may be dropped as a whole."""
    if not isinstance(turn, AssistantTurn):
        return _digest(before, dumps(Transcript((turn,))))
    items = tuple(item for item in turn.items if not isinstance(item, Opaque))
    return _digest(before, dumps(Transcript((replace(turn, items=items),)))) if items else before


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:32]
