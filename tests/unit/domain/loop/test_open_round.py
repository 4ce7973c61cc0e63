"""An open round: what runs for a call, and what is known of it."""

from __future__ import annotations

from geode.domain.content import ToolUseBlock
from geode.domain.loop.state import OpenRound
from tests.unit.domain.builders import assistant, call


def test_a_call_through_the_search_tool_is_that_of_the_tool_and_the_turn_stays_as_it_was_made() -> None:
    made, plain = call("a", "search_tools", {"name": "read"}), call("b", "write")
    round = OpenRound(assistant(made, plain), {}, {}, forwarded={"a": call("a", "read")})

    assert round.calls == (call("a", "read"), plain)
    assert (round.called("a"), round.call("a")) == (call("a", "read"), call("a", "read"))
    assert round.waiting == round.calls
    assert round.turn.calls == (made, plain)
    assert round.with_arguments("a", {"p": 1}).call("a") == call("a", "read", {"p": 1})


def test_other_arguments_take_the_place_of_what_could_not_be_read() -> None:
    """A call whose arguments are an object has no text of them beside."""
    broken = ToolUseBlock("a", "read", {}, "{bro")
    round = OpenRound(assistant(broken), {}, {}).with_arguments("a", {"p": 1})
    assert round.call("a") == call("a", "read", {"p": 1})
    assert round.called("a") == broken
