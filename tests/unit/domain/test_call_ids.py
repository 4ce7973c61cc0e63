"""Ids of calls: present and unique when they enter, fitting when they leave."""

from __future__ import annotations

import pytest

from geode.domain.call_ids import sent_id, with_unique_ids
from geode.domain.content import Opaque, Text, ToolUseBlock
from tests.unit.domain.builders import OWNER, call


def ids(items: tuple[Text | ToolUseBlock | Opaque, ...]) -> list[str]:
    return [item.id for item in items if isinstance(item, ToolUseBlock)]


@pytest.mark.parametrize(
    ("given", "taken", "made"),
    [
        (["a", "b"], [], ["a", "b"]),
        # missing: made of the round and the place
        ([""], [], ["call_g3_0"]),
        (["", "a", ""], [], ["call_g3_0", "a", "call_g3_2"]),
        # twice in one reply
        (["x", "x"], [], ["x", "x_2"]),
        (["x", "x", "x"], [], ["x", "x_2", "x_3"]),
        (["x", "x_2", "x"], [], ["x", "x_2", "x_3"]),
        (["x", "x", "x_2"], [], ["x", "x_2", "x_2_2"]),
        # used in an earlier round
        (["x"], ["x"], ["x_2"]),
        (["x"], ["x", "x_2"], ["x_3"]),
        (["", "a"], ["call_g3_0"], ["call_g3_0_2", "a"]),
        (["call_g3_1", ""], [], ["call_g3_1", "call_g3_1_2"]),
    ],
)
def test_every_call_gets_an_id_of_its_own(given: list[str], taken: list[str], made: list[str]) -> None:
    items = tuple(call(id) for id in given)
    assert ids(with_unique_ids(items, 3, taken)) == made
    assert ids(with_unique_ids(items, 3, taken)) == made, "the same reply always gets the same ids"
    assert (with_unique_ids(items, 3, taken) is items) is (given == made), "the very same where nothing was renamed"


def test_one_id_for_thousands_of_calls_takes_linear_time() -> None:
    def looked_up(calls: int) -> int:
        taken = Counted()
        made = ids(with_unique_ids((call("x"),) * calls, 1, taken))
        assert made == ["x", *(f"x_{number}" for number in range(2, calls + 1))]
        return taken.asked

    # Each id is looked for among numbers that double: four times the calls, and a few more questions for each.
    assert looked_up(4000) < 6 * looked_up(1000)


class Counted(frozenset[str]):
    """An empty set that counts how often it is asked."""

    asked = 0

    def __contains__(self, _: object) -> bool:
        self.asked += 1
        return False


def test_only_ids_change_and_places_count_every_item() -> None:
    thought = Opaque(OWNER, "thinking", "{}")
    items = (Text("a"), call("", "write", {"p": 1}), thought, call(""))
    assert with_unique_ids(items, 7, ()) == (Text("a"), call("call_g7_1", "write", {"p": 1}), thought, call("call_g7_3"))


def test_a_call_that_keeps_its_id_is_the_same_object() -> None:
    kept = call("a")
    assert with_unique_ids((kept,), 1, ("b",))[0] is kept


FITTING = ["a", "call_1", "toolu_01-AbC", "x" * 64]
UNFITTING = ["", "x" * 65, "call.1", "call_x|fc_y", "é", "a b", "a\n"]


@pytest.mark.parametrize("id", FITTING)
def test_a_provider_gets_its_own_id_back(id: str) -> None:
    assert sent_id(call(id), 4, 2, own=True) == id


@pytest.mark.parametrize("id", UNFITTING)
def test_an_id_that_fits_no_wire_is_rewritten_by_place(id: str) -> None:
    assert sent_id(call(id), 4, 2, own=True) == "call_gt4_2"


@pytest.mark.parametrize("id", [*FITTING, *UNFITTING])
def test_an_id_of_another_provider_is_rewritten_by_place(id: str) -> None:
    assert sent_id(call(id), 4, 2, own=False) == "call_gt4_2"
    assert sent_id(call(id), 12, 0, own=False) == "call_gt12_0"


def test_an_id_that_looks_like_a_made_one_is_made_anew_so_that_no_two_calls_share_one() -> None:
    taken = ToolUseBlock("call_gt1_1", "read", {})
    unfit = ToolUseBlock("no id at all", "read", {})
    sent = [sent_id(call, 1, place, own=True) for place, call in enumerate((taken, unfit))]
    assert sent == ["call_gt1_0", "call_gt1_1"]
