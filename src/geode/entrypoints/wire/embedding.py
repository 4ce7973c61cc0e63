"""Taking over a history that another program kept in the form of a wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geode.domain.content import Owner
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json
from geode.domain.naming import closest
from geode.domain.targets import WireName
from geode.entrypoints.wire.wires import PLACES, READERS


def conversation_from(wire: WireName, messages: Sequence[object], *, provider: str = "", model: str = "") -> Conversation:
    """The conversation in the messages (on Responses: the input items) of another program, with the laws kept.

    What had to be mended is in `.repairs`. System messages at the start are no part of a conversation: they
    are the `system=` of a session. Signed thinking and the like go back only to the `provider` and the
    `model` that made them; without these two they stay behind. Misuse for another wire and for what is no
    list of JSON objects.
    """
    name: object = wire
    read = READERS.get(wire) if isinstance(name, str) else None
    if read is None:
        close = closest(name, READERS) if isinstance(name, str) else ()
        hint = f"did you mean {close[0]}? " if close else ""
        raise Misuse("wire", f"wire {wire!r:.80} is unknown; {hint}Accepted: {', '.join(READERS)}")
    given: object = messages
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in messages):
        raise Misuse(
            "messages-type", f"messages must be a list of JSON objects, got {type(messages).__name__}: {messages!r:.80}"
        )
    try:
        body = clean_json({PLACES[wire]["history"].removeprefix("/"): messages})
    except ValueError as error:
        raise Misuse("messages-type", f"messages are not JSON: {error}") from None
    return read(body, Owner(provider, model)).request.conversation
