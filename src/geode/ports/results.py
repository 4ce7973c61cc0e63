"""Where long results of tools are kept, whole, for as long as a session may want to read parts of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from geode.domain.errors import GeodeError, Misuse
from geode.domain.offload import is_ref


@dataclass(frozen=True, slots=True)
class Origin:
    """What a stored result is the result of: to look at, never a part of its name."""

    run_id: str
    tool: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a stored text: from character `offset` on; the whole has `characters`."""

    text: str
    offset: int
    characters: int

    @property
    def end(self) -> int:
        """The offset of the character after it."""
        return self.offset + len(self.text)


class ResultStoreError(GeodeError):
    """The store cannot keep or give what it should: says where and why."""


class UnknownResult(ResultStoreError):
    """The store has no result of this id."""

    def __init__(self, ref_id: str) -> None:
        super().__init__(f"there is no stored result {ref_id}")
        self.ref_id = ref_id


class ExpiredResult(ResultStoreError):
    """The time of this result is over."""

    def __init__(self, ref_id: str) -> None:
        super().__init__(f"the stored result {ref_id} has expired")
        self.ref_id = ref_id


class StoreFull(ResultStoreError):
    """There is no room for this text; nothing of it was kept."""

    def __init__(self, needed: int, free: int, what: str) -> None:
        super().__init__(f"{what} has room for {max(free, 0)} bytes more, the result has {needed}")
        self.needed, self.free = needed, free


@runtime_checkable
class ResultStore(Protocol):
    """Keeps texts by ids, which geode makes up: `r_` and 26 letters of a-z2-7. Anything else is Misuse.

    `put` keeps a text whole or not at all, also when it is cancelled; once it is kept it is never changed:
    a second `put` of an id is ResultStoreError. `expires_at` is in epoch seconds; None is never. A text is
    Unicode without lone surrogates. `read` gives `limit` characters (all, by default) from character
    `offset` on, fewer at the end, none beyond it, and needs memory for what it gives, not for the whole;
    UnknownResult and ExpiredResult where there is nothing to read, ResultStoreError where what is there is
    damaged. `expire` sets another time. `delete` deletes those of the ids that are there. `sweep` deletes
    whatever has expired, and what was left behind half written, and says how many that were. The store may
    be used by many tasks, and by other processes where it outlives this one; it never blocks the event loop.
    """

    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None: ...

    async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Piece: ...

    async def expire(self, ref_id: str, expires_at: float | None) -> None: ...

    async def delete(self, ref_ids: Collection[str]) -> None: ...

    async def sweep(self) -> int: ...


class StoredResults(Protocol):
    """What a tool can read of the results that were stored in its session, by the `ref_id` that the model gives.

    `text` is a whole result, for coroutines; `text_now` is the same for tools that run in a thread of their
    own. Both raise ToolError, in words for the model, where the session has no such result.
    """

    async def text(self, ref_id: str) -> str: ...

    def text_now(self, ref_id: str) -> str: ...


SHOWN_LETTERS: Final = 40


def checked_ref(ref_id: object) -> str:
    """`ref_id`, which is one that geode makes; else Misuse. What passes is safe as the name of a file."""
    if not isinstance(ref_id, str) or not is_ref(ref_id):
        shown = repr(ref_id if not isinstance(ref_id, str) else ref_id[:SHOWN_LETTERS])[: 2 * SHOWN_LETTERS]
        raise Misuse("result-id", f"{shown} is no id of a stored result: r_ and 26 letters of a-z2-7")
    return ref_id


def checked_span(offset: object, limit: object) -> None:
    """Misuse for a place or a number of characters that is none."""
    for name, value in (("offset", offset), ("limit", limit)):
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not whole and not (name == "limit" and value is None):
            raise Misuse("result-span", f"{name} must be a whole number of 0 or more, got {value!r:.40}")
