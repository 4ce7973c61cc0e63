"""Ids of calls: unique when they enter a conversation, fitting when they leave on a wire (law 2)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final, TypeVar

from geode.domain.content import Opaque, Text, ToolUseBlock

# The alphabet and length that all three wires accept, whoever minted the id.
_FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MINTED: Final = "call_g"

Item = TypeVar("Item", bound=Text | ToolUseBlock | Opaque)


def with_unique_ids(
    items: tuple[Item, ...], round: int, taken: Collection[str], numbers: dict[str, int] | None = None
) -> tuple[Item, ...]:
    """`items` with every call's id present and unused: in this reply, and among those `taken` before.

    A missing id becomes one made of round and place, so the same reply always gets the same ids.
    The very same tuple comes back when nothing had to be renamed. `numbers` are kept from reply to reply
    while `taken` only grows, so that an id that is used in each of them is not counted up anew.
    """
    counted = {} if numbers is None else numbers
    used: set[str] = set()
    renamed: dict[int, Item] = {}
    for place, item in enumerate(items):
        if isinstance(item, ToolUseBlock):
            id = _unused(item.id or f"{_MINTED}{round}_{place}", used, taken, counted)
            used.add(id)
            if id != item.id:
                renamed[place] = replace(item, id=id)
    return tuple(renamed.get(place, item) for place, item in enumerate(items)) if renamed else items


def _unused(wanted: str, used: set[str], taken: Collection[str], numbers: dict[str, int]) -> str:
    if wanted not in used and wanted not in taken:
        return wanted
    number = numbers.get(wanted, 2)
    while (id := f"{wanted}_{number}") in used or id in taken:
        number += 1
    numbers[wanted] = number + 1
    return id


def sent_id(call: ToolUseBlock, turn: int, place: int, *, own: bool) -> str:
    """The id under which a call and its result go out.

    A provider gets its own ids back. An id that another provider made, that does not fit the alphabet
    of the wires, or that looks like one of geode's, goes out as one made of the turn's and the call's
    place: so no two calls ever share one.
    """
    if own and _FITS.fullmatch(call.id) and not call.id.startswith(_MINTED):
        return call.id
    return f"{_MINTED}t{turn}_{place}"
