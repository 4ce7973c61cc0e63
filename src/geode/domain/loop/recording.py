"""A run as it was written down, and the check that it comes to the same again.

A recording begins with a state; each input follows with the action that was pending when it came. A run
that is taken up again, after a suspension or in another process, begins anew in the same recording.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, get_args

from geode.domain.codec import dumps, loads
from geode.domain.conversation import Conversation
from geode.domain.errors import GeodeError, IllegalInput
from geode.domain.loop.actions import Action, Finish
from geode.domain.loop.inputs import Input
from geode.domain.loop.state import State
from geode.domain.loop.step import step

_ACTIONS: Final[dict[str, Any]] = {kind.__name__: kind for kind in get_args(Action)}


@dataclass(frozen=True, slots=True)
class Began:
    """The run began, or was taken up, with this state."""

    state: State


@dataclass(frozen=True, slots=True)
class Happened:
    """An input, and the action that was pending when it came, as `described`."""

    pending: str
    input: Input


@dataclass(frozen=True, slots=True)
class Left:
    """Whoever ran it let go of it, with this action pending: it is over, or suspended, or its journal failed."""

    pending: str


Record: TypeAlias = Began | Happened | Left


@dataclass(frozen=True, slots=True)
class Entry:
    """What one line of a journal holds."""

    record: Record


@dataclass(frozen=True, slots=True)
class Recording:
    """All that a journal has of one run, in order. `torn`: its last line was cut off and is left out."""

    run_id: str
    records: tuple[Record, ...]
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where deciding anew came to something else: the record, counted from 1, and both actions."""

    record: int
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"record {self.record}: recorded {self.recorded}, replayed {self.replayed}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What folding a recording gave: the last state, how many inputs went in, and the first divergence, if any.

    `state` is None where the recording holds no beginning; with a divergence it is the state before it.
    """

    state: State | None
    inputs: int = 0
    divergence: Divergence | None = None


def replay(recording: Recording) -> Replayed:
    """Fold the inputs again; nothing is performed. Total: also for a recording that another `step` made."""
    state: State | None = None
    inputs = 0
    for number, record in enumerate(recording.records, 1):
        if isinstance(record, Began):
            state = record.state
            continue
        if state is None:
            return Replayed(None, inputs, Divergence(number, record.pending, "no state to begin with"))
        found = described(state.pending)
        if found not in (record.pending, _as_written_now(record.pending)):
            return Replayed(state, inputs, Divergence(number, record.pending, found))
        if isinstance(record, Happened):
            try:
                state = step(state, record.input)
            except IllegalInput as error:
                return Replayed(state, inputs, Divergence(number, type(record.input).__name__, f"refused: {error}"))
            inputs += 1
    return Replayed(state, inputs)


def _as_written_now(text: str) -> str:
    """What an older geode described, with the fields that values have got since, which it did not know."""
    head, after, digest = text.rpartition(" after ")
    try:
        kind = json.loads(head or text)["kind"]
        return dumps(loads(_ACTIONS[kind], head or text)) + after + digest
    except (GeodeError, ValueError, KeyError, TypeError):
        return text


def described(action: Action) -> str:
    """The action as text that is equal for equal actions; of a conversation, only how it can be told from others."""
    if not isinstance(action, Finish):
        return dumps(action)
    outcome = action.outcome
    digest = hashlib.sha256(outcome.conversation.dumps().encode()).hexdigest()[:16]
    return f"{dumps(Finish(replace(outcome, conversation=Conversation())))} after {digest}"
