"""The contract of a store of long results: `geode.ports.ResultStore`."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import pytest

from geode.domain.errors import Misuse
from geode.domain.offload import new_ref
from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.results import ExpiredResult, Origin, ResultStore, ResultStoreError, StoreFull, UnknownResult

ROOM = 4_000_000
ORIGIN = Origin("run_1", "read/../log", "../../etc/passwd")
ONE, TWO = new_ref(bytes(16)), new_ref(b"\xff" * 16)

_WIDE = "Grüße, 世界 \u2028 🎉\r\n\t\0 e\u0301 \ufeff\U0010ffff"
TEXTS = {
    "empty": "",
    "a letter": "x",
    "line ends": "a\nb\r\nc\rd\n",
    "ASCII": "".join(f"line {number}\n" for number in range(30_000)),
    "wide": _WIDE * 12_000,
    "wide at the end": "x" * 200_001 + _WIDE,
    "exactly a block": "ä" * 65_536,
}
NO_IDS = ["", "r_", ".", "..", "../" + ONE, "/etc/passwd", ONE + "\n", ONE.upper(), "x" * 10_000, ONE[:-1], ONE + "a", "r_\0"]
NO_SPANS = [(-1, None), (0, -1), (True, 1), (1.5, 1), ("0", 1), (0, "1")]


class ResultStoreHarness(ABC):
    """A place where results are kept, which is empty at first; each harness has a place of its own.

    It is made with the bytes that the place has room for, and a function that tells what time it is in epoch
    seconds.
    """

    @abstractmethod
    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None: ...

    @abstractmethod
    def store(self) -> ResultStore:
        """A store over the place. Those of two calls see what the other one keeps."""

    @abstractmethod
    async def things(self) -> int:
        """How many files, objects or rows there are in the place, half written ones included."""


class DurableResultStoreHarness(ResultStoreHarness):
    """A place outside of the process, where what is kept may come to harm."""

    @abstractmethod
    async def damage(self, ref_id: str) -> None:
        """Take the last byte of a stored text away, as a failing disk might."""


class ResultStoreContract(Contract):
    """What is kept can be read in any parts, until its time is over; and nothing else is ever touched."""

    @pytest.fixture(autouse=True)
    def _one_place(self) -> None:
        # Now, since the place may note by its own clock when it was written to.
        self.time = self.start = time.time()
        self._made: ResultStoreHarness = made(type(self), ResultStoreHarness, ROOM, self._now)

    def _now(self) -> float:
        return self.time

    def store(self) -> ResultStore:
        return self._made.store()

    def test_it_is_one(self) -> None:
        assert isinstance(self.store(), ResultStore)

    # ---- put and read --------------------------------------------------------------------------

    @pytest.mark.parametrize("name", TEXTS)
    async def test_what_was_put_is_read_by_another_letter_by_letter(self, name: str) -> None:
        text = TEXTS[name]
        await self.store().put(ONE, text, ORIGIN, self.start + 60)
        piece = await self.store().read(ONE)
        assert (piece.text == text, piece.offset, piece.characters) == (True, 0, len(text))

    @pytest.mark.parametrize("name", TEXTS)
    async def test_any_part_is_counted_in_characters(self, name: str) -> None:
        text = TEXTS[name]
        store = self.store()
        await store.put(ONE, text, ORIGIN)
        edges = [0, 1, 65_535, 65_536, 65_537, 131_072, len(text) - 1, len(text), len(text) + 7]
        spans = [(max(offset, 0), limit) for offset in edges for limit in (0, 1, 2, 65_536, None)]
        spans += [(number * 100_003 % (len(text) + 1), number * 70_001 % (len(text) + 1)) for number in range(1, 20)]
        for offset, limit in spans:
            piece = await store.read(ONE, offset, limit)
            wanted = text[offset : None if limit is None else offset + limit]
            assert piece.text == wanted, f"{limit} characters from {offset} on"
            assert (piece.offset, piece.characters) == (min(offset, len(text)), len(text))

    async def test_results_are_kept_apart(self) -> None:
        store = self.store()
        await asyncio.gather(store.put(ONE, "one", ORIGIN), store.put(TWO, "two", ORIGIN))
        assert [piece.text for piece in await asyncio.gather(store.read(ONE), store.read(TWO))] == ["one", "two"]

    async def test_many_at_once(self) -> None:
        refs = [new_ref(bytes([number] * 16)) for number in range(20)]
        await asyncio.gather(*(self.store().put(ref, ref * 1_000, ORIGIN) for ref in refs))
        pieces = await asyncio.gather(*(self.store().read(ref, 28, 28) for ref in refs))
        assert [piece.text for piece in pieces] == refs

    async def test_what_is_kept_is_never_changed(self) -> None:
        await self.store().put(ONE, "first", ORIGIN)
        with pytest.raises(ResultStoreError):
            await self.store().put(ONE, "second", ORIGIN)
        assert (await self.store().read(ONE)).text == "first"

    async def test_what_is_not_there(self) -> None:
        with pytest.raises(UnknownResult) as caught:
            await self.store().read(ONE)
        assert caught.value.ref_id == ONE
        with pytest.raises(UnknownResult):
            await self.store().expire(ONE, None)

    # ---- delete, expire, sweep -----------------------------------------------------------------

    async def test_what_was_deleted_is_gone_and_nothing_else(self) -> None:
        await self.store().put(ONE, "one", ORIGIN)
        await self.store().put(TWO, "two", ORIGIN)
        await self.store().delete((ONE, new_ref(b"a" * 16)))
        with pytest.raises(UnknownResult):
            await self.store().read(ONE)
        assert (await self.store().read(TWO)).text == "two"
        await self.store().delete((ONE, TWO))
        await self.store().delete(())
        assert await self._made.things() == 0

    async def test_when_its_time_is_over_it_cannot_be_read(self) -> None:
        await self.store().put(ONE, "one", ORIGIN, self.start + 60)
        self.time = self.start + 59
        assert (await self.store().read(ONE)).text == "one"
        self.time = self.start + 60
        with pytest.raises(ExpiredResult) as caught:
            await self.store().read(ONE)
        assert caught.value.ref_id == ONE

    async def test_a_sweep_takes_what_is_over_and_nothing_else(self) -> None:
        await self.store().put(ONE, "one", ORIGIN, self.start + 60)
        await self.store().put(TWO, "two", ORIGIN, self.start + 120)
        kept = new_ref(b"k" * 16)
        await self.store().put(kept, "for ever", ORIGIN)
        assert await self.store().sweep() == 0
        self.time = self.start + 100
        assert await self.store().sweep() == 1
        with pytest.raises(UnknownResult):
            await self.store().read(ONE)
        assert [(await self.store().read(ref)).text for ref in (TWO, kept)] == ["two", "for ever"]
        self.time = self.start + 1e9
        await self.store().sweep()
        assert (await self.store().read(kept)).text == "for ever"

    async def test_the_time_can_be_set_anew(self) -> None:
        await self.store().put(ONE, "one", ORIGIN, self.start + 60)
        await self.store().expire(ONE, None)
        self.time = self.start + 1e6
        assert await self.store().sweep() == 0
        assert (await self.store().read(ONE)).text == "one"
        await self.store().expire(ONE, self.start)
        with pytest.raises(ExpiredResult):
            await self.store().read(ONE)

    # ---- what goes wrong -----------------------------------------------------------------------

    async def test_where_there_is_no_room_nothing_is_kept(self) -> None:
        store = self.store()
        await store.put(ONE, "x" * (ROOM // 2), ORIGIN)
        before = await self._made.things()
        with pytest.raises(StoreFull):
            await store.put(TWO, "y" * (ROOM // 2), ORIGIN)
        assert await self._made.things() == before
        assert (await store.read(ONE, 5, 3)).text == "xxx"
        await store.delete((ONE,))
        await store.put(TWO, "y" * (ROOM // 2), ORIGIN)
        assert (await store.read(TWO, 0, 1)).text == "y"

    async def test_two_at_once_do_not_take_the_same_room(self) -> None:
        puts = (self.store().put(ref, "x" * (ROOM // 2), ORIGIN) for ref in (ONE, TWO))
        refused = [error for error in await asyncio.gather(*puts, return_exceptions=True) if error is not None]
        assert refused
        assert all(isinstance(error, StoreFull) for error in refused)
        await self.store().delete((ONE, TWO))
        assert await self._made.things() == 0

    async def test_a_put_that_is_cancelled_keeps_all_or_nothing(self) -> None:
        text = "ab" * (ROOM // 8)
        for turns in (0, 1, 2, 10, 200):
            ref = new_ref(bytes([turns] * 16))
            putting = asyncio.create_task(self.store().put(ref, text, ORIGIN))
            for _ in range(turns):
                await asyncio.sleep(0)
            putting.cancel()
            await asyncio.gather(putting, return_exceptions=True)
            try:
                piece = await self.store().read(ref)
                assert piece.text == text
            except UnknownResult:
                pass
            await self.store().delete((ref,))
        self.time = self.start + 1e6
        await self.store().sweep()
        assert await self._made.things() == 0

    @pytest.mark.parametrize("ref", NO_IDS, ids=range(len(NO_IDS)))
    async def test_what_is_no_id_never_reaches_the_place(self, ref: str) -> None:
        store = self.store()
        await store.put(ONE, "one", ORIGIN)
        before = await self._made.things()
        for using in (store.put(ref, "x", ORIGIN), store.read(ref), store.expire(ref, None), store.delete((ONE, ref))):
            with pytest.raises(Misuse) as caught:
                await using
            assert caught.value.id == "result-id"
            assert len(str(caught.value)) < 300
        assert await self._made.things() == before

    @pytest.mark.parametrize("span", NO_SPANS, ids=str)
    async def test_a_span_that_is_none(self, span: tuple[int, int | None]) -> None:
        await self.store().put(ONE, "one", ORIGIN)
        with pytest.raises(Misuse) as caught:
            await self.store().read(ONE, *span)
        assert caught.value.id == "result-span"


class DurableResultStoreContract(ResultStoreContract):
    """`ResultStoreContract` for a store that outlives the process: it notices what came to harm."""

    async def test_what_is_damaged_is_an_error(self) -> None:
        place = made(type(self), DurableResultStoreHarness, ROOM, self._now)
        await place.store().put(ONE, "one", ORIGIN)
        await place.damage(ONE)
        with pytest.raises(ResultStoreError):
            await place.store().read(ONE)
