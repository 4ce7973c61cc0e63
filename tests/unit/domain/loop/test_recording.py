"""Folding what was written down: the same actions again, or the first one that is another."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from geode.domain.codec import dumps
from geode.domain.conversation import Conversation
from geode.domain.loop.actions import CallModel, Finish
from geode.domain.loop.inputs import Input, ModelFailed, ModelReplied, ToolFinished, Waited
from geode.domain.loop.recording import Began, Divergence, Happened, Left, Record, Recording, Replayed, described, replay
from geode.domain.loop.resuming import revived
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.verdicts import Valid
from tests.unit.domain.builders import OWNER, TOOLS, begun, call, ending, failure, model_call, ok, replied, reply, stage

INPUTS: tuple[Input, ...] = (
    ModelReplied(1.0, reply(call("a"), call("b")), (Valid(), Valid())),
    ToolFinished(2.0, ok("b")),
    ToolFinished(3.0, ok("a")),
    ModelReplied(4.0, reply("done")),
)


def written(state: State, *inputs: Input, left: bool = True) -> tuple[list[Record], State]:
    records: list[Record] = [Began(state)]
    for input in inputs:
        records.append(Happened(described(state.pending), input))
        state = step(state, input)
    return [*records, *([Left(described(state.pending))] if left else [])], state


def recording(records: list[Record]) -> Recording:
    return Recording("run-1", tuple(records))


def test_the_same_again() -> None:
    records, last = written(begun(), *INPUTS)
    found = replay(recording(records))
    assert (found.state, found.inputs, found.divergence) == (last, 4, None)


@pytest.mark.parametrize("count", range(5))
def test_a_run_that_was_cut_off_is_folded_to_where_it_was(count: int) -> None:
    records, last = written(begun(), *INPUTS[:count], left=False)
    assert replay(recording(records)).state == last


def test_a_run_that_was_taken_up_begins_anew() -> None:
    first, last = written(begun(), *INPUTS[:2], left=False)
    state = revived(last, OWNER, TOOLS, 10.0)
    second, end = written(state, *INPUTS[2:])
    found = replay(recording([*first, *second]))
    assert (found.state, found.inputs, found.divergence) == (end, 4, None)


def test_another_action_is_told_with_both() -> None:
    records, _ = written(begun(), *INPUTS)
    first = records[1]
    assert isinstance(first, Happened)
    other = described(replace(model_call(begun()), attempt=2))
    records[1] = replace(first, pending=other)
    divergence = replay(recording(records)).divergence
    assert divergence is not None
    assert (divergence.record, divergence.recorded, divergence.replayed) == (2, other, described(begun().pending))
    assert str(divergence) == f"record 2: recorded {other}, replayed {described(begun().pending)}"


def test_the_first_divergence_ends_it() -> None:
    records, _ = written(begun(), *INPUTS)
    records[3] = Happened("other", INPUTS[2])
    records[4] = Happened("another", INPUTS[3])
    found = replay(recording(records))
    assert found.divergence is not None
    assert (found.divergence.record, found.inputs) == (4, 2)
    assert found.state is not None
    assert stage(found.state) == (("a",), ())


def test_an_input_that_is_not_allowed_is_a_divergence() -> None:
    state = begun()
    records: list[Record] = [Began(state), Happened(described(state.pending), Waited(1.0))]
    refused = Divergence(2, "Waited", "refused: CallModel is pending, not Wait")
    assert replay(recording(records)) == Replayed(state, 0, refused)


def test_another_end_is_a_divergence() -> None:
    records, _ = written(begun(), *INPUTS)
    _, other = written(begun(), *INPUTS[:3], ModelReplied(4.0, reply("something else")))
    records[-1] = Left(described(other.pending))
    divergence = replay(recording(records)).divergence
    assert divergence is not None
    assert (divergence.record, divergence.recorded) == (6, described(other.pending))


def test_a_lost_input_shows() -> None:
    records, _ = written(begun(), *INPUTS)
    del records[2]
    divergence = replay(recording(records)).divergence
    assert divergence is not None
    assert divergence.record == 3


def test_without_a_beginning_there_is_no_state() -> None:
    assert replay(recording([])).state is None
    assert replay(recording([Left("over")])) == Replayed(None, 0, Divergence(1, "over", "no state to begin with"))


def test_an_action_is_described_in_full_and_a_conversation_by_its_digest() -> None:
    pending = begun().pending
    assert isinstance(pending, CallModel)
    assert described(pending) == dumps(pending)
    over = replied(begun(), "done")
    digest = hashlib.sha256(over.closed.dumps().encode()).hexdigest()[:16]
    without = replace(ending(over), conversation=Conversation())
    assert described(over.pending) == f"{dumps(Finish(without))} after {digest}"


def test_what_an_older_geode_wrote_is_the_same_without_the_fields_that_it_did_not_know() -> None:
    records, _ = written(begun(), *INPUTS[:3], ModelFailed(4.0, failure(402, "no credit after noon"), 0.5))
    left = records[-1]
    assert isinstance(left, Left)
    old = left.pending.replace(',"quota":[]', "").replace(',"subscription":false', "")
    assert old != left.pending
    assert replay(recording([*records[:-1], Left(old)])).divergence is None
    other = old.replace("no credit", "all credit")
    divergence = replay(recording([*records[:-1], Left(other)])).divergence
    assert divergence is not None
    assert (divergence.recorded, divergence.replayed) == (other, left.pending)


@pytest.mark.parametrize("text", ["", "{}", "[]", "odd", '{"kind":"No"}', '{"geode":1,"kind":"Wait","value":{}}', " after x"])
def test_what_is_no_action_is_another_action(text: str) -> None:
    records, _ = written(begun())
    divergence = replay(recording([*records[:-1], Left(text)])).divergence
    assert divergence is not None
    assert divergence.recorded == text
