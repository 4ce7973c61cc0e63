"""An open round: what runs for a call, and what is known of it."""

from __future__ import annotations

from geode.domain.content import ToolUseBlock
from geode.domain.loop.state import OpenRound
from tests.unit.domain.builders import assistant, call


def test_other_arguments_take_the_place_of_what_could_not_be_read() -> None:
    """A call whose arguments are an object has no text of them beside."""
    broken = ToolUseBlock("a", "read", {}, "{bro")
    round = OpenRound(assistant(broken), {}, {}).with_arguments("a", {"p": 1})
    assert round.call("a") == call("a", "read", {"p": 1})
    assert round.called("a") == broken
