"""Mending a list of turns: one result for every call, in call order, before anything else."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from geode.domain.content import Opaque, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.repair import INTERRUPTED, repair
from geode.domain.turns import Hint, Repair, Turn, UserTurn
from tests.unit.domain.builders import OWNER, assistant, call, ok, results, user

HINT, OTHER_HINT = Hint("wrap_up", "conclude"), Hint("wrap_up", "now")
THOUGHT = Opaque(OWNER, "thinking", "{}")


def interrupted(id: str) -> ToolResult:
    return ToolResult(id, "interrupted", (Text(INTERRUPTED),))


def test_what_an_unfinished_call_is_told() -> None:
    assert INTERRUPTED == "interrupted: this call did not finish; it may or may not have had its effect"


Row = tuple[str, tuple[Turn, ...], tuple[Turn, ...], tuple[Repair, ...]]
ROWS: list[Row] = [
    ("nothing", (), (), ()),
    (
        "a lawful one",
        (user(), assistant(call("a")), results("a"), user()),
        (user(), assistant(call("a")), results("a"), user()),
        (),
    ),
    (
        "interrupted, then told to go on",
        (user(), assistant(call("a")), user("continue")),
        (user(), assistant(call("a")), results(interrupted("a")), user("continue")),
        (Repair("interrupted", 1, "a"),),
    ),
    (
        "the last round is open",
        (user(), assistant("x", call("a"), call("b"))),
        (user(), assistant("x", call("a"), call("b")), results(interrupted("a"), interrupted("b"))),
        (Repair("interrupted", 1, "a"), Repair("interrupted", 1, "b")),
    ),
    (
        "one of three has its result",
        (assistant(call("a"), call("b"), call("c")), results("b")),
        (assistant(call("a"), call("b"), call("c")), results(interrupted("a"), ok("b"), interrupted("c"))),
        (Repair("interrupted", 0, "a"), Repair("interrupted", 0, "c")),
    ),
    (
        "results in two turns: no placeholder beside the real one",
        (assistant(call("a"), call("b")), results("a"), results("b")),
        (assistant(call("a"), call("b")), results("a", "b")),
        (Repair("reordered", 0),),
    ),
    (
        "results in another order",
        (assistant(call("a"), call("b")), results("b", "a")),
        (assistant(call("a"), call("b")), results("a", "b")),
        (Repair("reordered", 0),),
    ),
    (
        "user text between a call and its result",
        (assistant(call("a")), user("hurry"), results("a"), user("thanks")),
        (assistant(call("a")), results("a"), user("hurry"), user("thanks")),
        (Repair("reordered", 0),),
    ),
    (
        "a second result for one call",
        (assistant(call("a")), results("a", ok("a", "again"))),
        (assistant(call("a")), results("a")),
        (Repair("duplicate_dropped", 1, "a"),),
    ),
    (
        "a second result in a later turn, equal to the first",
        (assistant(call("a")), results("a"), user(), results("a")),
        (assistant(call("a")), results("a"), user()),
        (Repair("duplicate_dropped", 3, "a"),),
    ),
    (
        "results without any call before them",
        (user(), results("a", "b"), user("x")),
        (user(), user("x")),
        (Repair("orphan_dropped", 1, "a"), Repair("orphan_dropped", 1, "b")),
    ),
    (
        "a result of no call among real ones",
        (assistant(call("a")), results("z", "a")),
        (assistant(call("a")), results("a")),
        (Repair("orphan_dropped", 1, "z"),),
    ),
    (
        "a result after an answer in text",
        (assistant("hi"), results("a"), user()),
        (assistant("hi"), user()),
        (Repair("orphan_dropped", 1, "a"),),
    ),
    (
        "the results of two turns come together, after both",
        (assistant(call("a")), assistant(call("b")), results("a", "b")),
        (assistant(call("a")), results("a"), assistant(call("b")), results("b")),
        (Repair("reordered", 0),),
    ),
    (
        "a result comes after the model has spoken again",
        (assistant(call("a"), call("b")), results("b"), assistant("and?"), results("a"), user()),
        (assistant(call("a"), call("b")), results("a", "b"), assistant("and?"), user()),
        (Repair("reordered", 0),),
    ),
    (
        "a late result with an id that was used again is of the later call",
        (assistant(call("a")), assistant(call("a")), results("a", "a")),
        (assistant(call("a")), results(interrupted("a")), assistant(call("a_2")), results("a_2")),
        (
            Repair("interrupted", 0, "a"),
            Repair("id_changed", 1, "a_2"),
            Repair("duplicate_dropped", 2, "a"),
        ),
    ),
    (
        "an id used in every round: each result stays with its own",
        (assistant(call("x")), results(ok("x", "r1")), assistant(call("x")), results(ok("x", "r2"))),
        (assistant(call("x")), results(ok("x", "r1")), assistant(call("x_2")), results(ok("x_2", "r2"))),
        (Repair("id_changed", 2, "x_2"),),
    ),
    (
        "an id used twice in one turn: results in order",
        (assistant(call("x", "read"), call("x", "fetch")), results(ok("x", "r1"), ok("x", "r2"))),
        (assistant(call("x", "read"), call("x_2", "fetch")), results(ok("x", "r1"), ok("x_2", "r2"))),
        (Repair("id_changed", 0, "x_2"),),
    ),
    (
        "equal results of calls with one id",
        (assistant(call("x"), call("y"), call("x")), results("x", "y", "x")),
        (assistant(call("x"), call("y"), call("x_2")), results("x", "y", "x_2")),
        (Repair("id_changed", 0, "x_2"),),
    ),
    (
        "an id that is missing, on both sides",
        (assistant("t", call("")), results("")),
        (assistant("t", call("call_g0_1")), results("call_g0_1")),
        (Repair("id_changed", 0, "call_g0_1"),),
    ),
    (
        "an empty answer",
        (user(), assistant(" "), assistant(), user()),
        (user(), user()),
        (Repair("empty_dropped", 1), Repair("empty_dropped", 2)),
    ),
    (
        "an empty answer between a call and its result",
        (assistant(call("a")), assistant(""), results("a")),
        (assistant(call("a")), results("a")),
        (Repair("reordered", 0), Repair("empty_dropped", 1)),
    ),
    (
        "a result after an empty answer alone",
        (assistant(""), results("a")),
        (),
        (Repair("empty_dropped", 0), Repair("orphan_dropped", 1, "a")),
    ),
    ("thoughts are kept", (assistant(THOUGHT), user()), (assistant(THOUGHT), user()), ()),
    (
        "hints are kept after the results they came with",
        (assistant(call("a"), call("b")), results("a", hints=(HINT,)), results("b", hints=(OTHER_HINT,)), user()),
        (assistant(call("a"), call("b")), results("a", "b", hints=(HINT, OTHER_HINT)), user()),
        (Repair("reordered", 0),),
    ),
    (
        "hints of dropped results are kept as the user's",
        (results("a", hints=(HINT,)), assistant("hi"), results("b", hints=(OTHER_HINT,)), user()),
        (UserTurn((), (HINT,)), assistant("hi"), UserTurn((), (OTHER_HINT,)), user()),
        (Repair("orphan_dropped", 0, "a"), Repair("orphan_dropped", 2, "b")),
    ),
    (
        "a turn of results that holds none",
        (
            user(),
            results(),
            assistant("hi"),
            results(hints=(HINT,)),
            assistant(call("a")),
            results("a"),
            results(hints=(HINT,)),
        ),
        (user(), assistant("hi"), UserTurn((), (HINT,)), assistant(call("a")), results("a", hints=(HINT,))),
        (Repair("empty_dropped", 1), Repair("empty_dropped", 3), Repair("empty_dropped", 6)),
    ),
]


@pytest.mark.parametrize(("given", "mended", "repairs"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_mended_and_reported(given: tuple[Turn, ...], mended: tuple[Turn, ...], repairs: tuple[Repair, ...]) -> None:
    assert repair(given) == (mended, repairs)
    talk = Conversation.repaired(iter(given))
    assert (talk.turns, talk.repairs) == (mended, repairs)


@pytest.mark.parametrize("mended", [row[2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_mending_again_changes_nothing(mended: tuple[Turn, ...]) -> None:
    assert repair(mended) == (mended, ())


def test_a_turn_with_nothing_to_mend_is_the_same_object() -> None:
    """What encoders remember of a turn survives a repair elsewhere."""
    kept = assistant("x", call("a"))
    assert repair((kept, results("a"), assistant(call("a"))))[0][0] is kept


def test_what_was_said_to_be_repaired_is_not_touched() -> None:
    given = (assistant(call("x"), call("x")), results("x"))
    repair(given)
    assert given == (assistant(call("x"), call("x")), results("x"))


@pytest.mark.timed
@pytest.mark.parametrize(
    "make",
    [
        lambda n: [assistant(*(call("a") for _ in range(n))), *(results("a") for _ in range(n))],
        lambda n: [
            assistant(*(call(f"{i}") for i in range(n))),
            results(*(f"{i}" for i in reversed(range(n)))),
        ],
        lambda n: [results(f"{i}") for i in range(n)],
        lambda n: [turn for _ in range(n) for turn in (assistant(call("a")), results("a"))],
    ],
    ids=["one id", "results reversed", "orphans", "one id in every round"],
)
def test_mending_takes_time_in_proportion(make: Callable[[int], list[Turn]]) -> None:
    def seconds(parts: int) -> float:
        turns = tuple(make(parts))
        started = time.process_time()
        repair(turns)
        return time.process_time() - started

    # Four times the turns: in quadratic time it would be sixteen times. The machine may be busy: the least of some counts.
    ratios = (min(seconds(1600) for _ in range(2)) / min(seconds(400) for _ in range(3)) for _ in range(4))
    assert any(ratio < 8 for ratio in ratios)
