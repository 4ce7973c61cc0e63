"""What a caller gives to a run: a prompt, and the conversation that it goes on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from geode.application.announcer import Announcer
from geode.application.contents import Contents
from geode.application.threads import DaemonThreads
from geode.domain.content import MEDIA, Part, Text
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.state import State
from geode.domain.turns import UserTurn

Prompt: TypeAlias = str | Part | Sequence[str | Part]


def check_conversation(value: object) -> None:
    """Misuse for what is no conversation, with the ways to one."""
    if value is not None and not isinstance(value, Conversation):
        items = cast("list[object]", value) if isinstance(value, list) else []
        shown = f"list of {type(items[0]).__name__}" if items else type(value).__name__
        ways = "Conversation.loads(text) or geode.conversation_from(wire, list)"
        raise Misuse("conversation-type", f"conversation must be a Conversation, got {shown}: {ways}")


def items_of(prompt: object) -> tuple[Part, ...]:
    """The items of the user turn; Misuse for a prompt that says nothing."""
    parts = prompt if isinstance(prompt, list | tuple) else (prompt,)
    items = tuple(_item(part) for part in cast("Sequence[object]", parts))
    if not any(not isinstance(item, Text) or item.text.strip() for item in items):
        raise Misuse("empty-prompt", "the prompt says nothing: give text, an Image or a Document")
    return items


def _item(part: object) -> Part:
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, (Text, *MEDIA)):
        return part
    raise Misuse("prompt-type", f"a prompt is text, an Image, a Document or a list of them, got {type(part).__name__}")


async def with_fitting_prompt(state: State, contents: Contents, announcer: Announcer) -> State:
    """A run that was begun, the pictures of its prompt such as the provider takes.

    Where one cannot be made so, all stay as they are: the request is refused with the reason, for a prompt says
    what it says or nothing.
    """
    *before, turn = state.closed.turns
    if not isinstance(turn, UserTurn) or not contents.oversize(turn.items):
        return state
    fitted = await DaemonThreads(1).run(lambda: contents.fitted(turn.items))
    if fitted.left_out:
        return state
    for text in fitted.resized:
        await announcer.notice("image_resized", f"prompt: {text}")
    closed = Conversation((*before, replace(turn, items=fitted.content)), state.closed.repairs)
    return replace(state, closed=closed)
