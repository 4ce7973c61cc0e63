"""What a person is told of a request that was refused or adjusted, and the turns at the edges of the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from geode.domain.binding import bound
from geode.domain.choice import Auto, Required, ToolChoice
from geode.domain.content import Document, Image, Opaque, Owner, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.models import THINKING_KINDS, ModelRow
from geode.domain.negotiation import Adjustment, negotiate
from geode.domain.reply import ReplyItem
from geode.domain.request import AdapterCallRequest, Capabilities, Limits
from geode.domain.sent_media import shown
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn
from tests.unit.domain.builders import assistant, call, results, spec, user
from tests.unit.domain.rows import CLAUDE, GPT, GPT_CHAT, RELAYED

TOOLS = (spec("read"),)
MESSAGES = Capabilities(temperature=False, thinking=THINKING_KINDS, models=CLAUDE)
RESPONSES = Capabilities(models=GPT)
CHAT = Capabilities(models=GPT_CHAT)
SONNET = "claude-sonnet-4-5"
PNG = Image("image/png", b"\x89PNG\r\n\x1a\n")


def request(model: str, *turns: Turn, choice: ToolChoice = Auto(), **settings: Any) -> AdapterCallRequest:
    return AdapterCallRequest(model, Conversation(turns or (user(),)), "system", TOOLS, choice, **settings)


def why_not(asked: AdapterCallRequest, able: Capabilities) -> str | None:
    return negotiate("p", asked, able).swap().value_or(None)


TOOLS_ALONE = "model {} takes tools on this wire only without effort"

# ---- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "able", "why"),
    [
        (request("o3-mini", effort="max"), RESPONSES, 'model o3-mini takes no effort "max"; it takes low, medium, high'),
        (
            request("gpt-5.4-mini", effort="high"),
            CHAT,
            f'{TOOLS_ALONE.format("gpt-5.4-mini")}: leave it out, or effort="none", or the Responses wire',
        ),
        (
            request("gpt-5.5"),
            CHAT,
            f'{TOOLS_ALONE.format("gpt-5.5")}: effort="none", or the Responses wire',
        ),
        (
            request(SONNET, thinking=AdaptiveThinking()),
            MESSAGES,
            f"model {SONNET} takes no adaptive thinking; it takes budget",
        ),
        (
            request("claude-sonnet-5", thinking=ThinkingBudget(1024)),
            MESSAGES,
            "model claude-sonnet-5 takes no budget thinking; it takes adaptive",
        ),
        (
            request("dull", thinking=AdaptiveThinking()),
            replace(MESSAGES, models=(ModelRow("dull", thinking=frozenset()),)),
            "model dull takes no adaptive thinking; it takes none",
        ),
    ],
)
def test_what_a_model_does_not_take_is_told_with_what_it_does(asked: AdapterCallRequest, able: Capabilities, why: str) -> None:
    assert why_not(asked, able) == f"p: {why}"


def test_effort_none_is_no_reasoning_that_a_force_could_cost() -> None:
    """TC-06: what the relay drops is reasoning."""
    asked = request("anthropic/claude-sonnet-4.5", choice=Required(), effort="none")
    assert why_not(asked, Capabilities(models=RELAYED)) is None


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_the_ends_of_the_scale_belong_to_it(temperature: float) -> None:
    assert why_not(request("gpt-4o", temperature=temperature), RESPONSES) is None


# ---- turns at the edges ------------------------------------------------------------------------

ME = Owner("p", SONNET)
THOUGHT = Opaque(ME, "thinking", "{}")


def mine(*items: ReplyItem) -> AssistantTurn:
    return AssistantTurn(items, ME)


@pytest.mark.parametrize(
    "turns",
    [
        # Thinking that surely goes out ends the round that began without.
        (user(), mine(call("a")), results("a"), mine(THOUGHT), user()),
        # A turn that goes on where it paused is no round of tools.
        (user(), mine(Text("so far"))),
        (user(), mine(THOUGHT, call("a")), results("a"), mine(Text("so far"))),
    ],
)
def test_under_a_budget_only_a_round_of_tools_has_to_have_begun_with_thinking(turns: tuple[Turn, ...]) -> None:
    """Wire facts C1.9."""
    assert why_not(request(SONNET, *turns, thinking=ThinkingBudget(1024)), MESSAGES) is None


@pytest.mark.parametrize(
    "turns",
    [
        (UserTurn((), (Hint("wrap_up", "conclude"),)),),
        (UserTurn(()), mine(Text("so far"))),
        (UserTurn(()), mine(THOUGHT)),
    ],
    ids=["a hint", "text of the model", "what the owner alone understands"],
)
def test_what_says_something_leaves(turns: tuple[Turn, ...]) -> None:
    assert why_not(request(SONNET, *turns), MESSAGES) is None


# ---- media -------------------------------------------------------------------------------------

BLIND = Capabilities(media=frozenset())


def test_the_media_of_a_conversation_are_looked_for_once() -> None:
    talk = Conversation((user(), UserTurn((PNG,)), assistant("fine")))
    found = shown(talk)
    assert (found.seen, found.by_users) == (3, ((1, PNG),))
    assert shown(talk) is found


def test_what_a_conversation_grows_by_is_found_in_its_place() -> None:
    talk = Conversation((user(), assistant("fine")))
    assert why_not(replace(request("m"), conversation=talk), BLIND) is None
    grown = talk.grown(user(), assistant("fine"), UserTurn((Text("look"), PNG)))
    why = "p: model m cannot be sent image/png, 8 bytes (user turn 4) on this wire"
    assert why_not(replace(request("m"), conversation=grown), BLIND) == why


# ---- what observers are told -------------------------------------------------------------------


def adjusted(asked: AdapterCallRequest, able: Capabilities) -> tuple[AdapterCallRequest, tuple[Adjustment, ...]]:
    sent = negotiate("p", asked, able).unwrap()
    return sent.request, sent.adjustments


def test_tools_that_stay_behind() -> None:
    sent, told = adjusted(request("m"), Capabilities(supports_tools=False))
    assert sent.tools == ()
    assert told == (Adjustment("text_only", "p takes no tools: the request goes out as text alone"),)


@pytest.mark.parametrize("tokens", [1, 8192])
def test_a_bound_of_the_output_that_stays_behind(tokens: int) -> None:
    """A server that has none would refuse it (wire facts F); a run's own budget holds all the same (spec section 6)."""
    limits = Limits(tokens, 5.0, 2.0)
    sent, told = adjusted(request("m", limits=limits), Capabilities(output_limit=False))
    assert sent == request("m", limits=Limits(None, 5.0, 2.0))
    assert told == (Adjustment("output_unbounded", "p takes no bound of output tokens: the request goes out without one"),)
    assert adjusted(request("m", limits=limits), Capabilities()) == (request("m", limits=limits), ())


def test_where_no_bound_is_given_nothing_is_told_of_one() -> None:
    asked = request("m", limits=Limits(None))
    assert adjusted(asked, Capabilities(output_limit=False)) == (asked, ())


def test_calls_of_before_are_told_in_words_to_one_that_takes_no_tools() -> None:
    """Spec section 6: earlier tool turns appear as plain transcript."""
    talk = Conversation((user(), assistant(call("a")), results("a"), assistant("fine"), user()))
    sent, told = adjusted(replace(request("m"), conversation=talk, tools=()), Capabilities(supports_tools=False))
    assert [type(turn) for turn in sent.turns] == [UserTurn, AssistantTurn, UserTurn, AssistantTurn, UserTurn]
    assert not any(turn.calls for turn in sent.turns if isinstance(turn, AssistantTurn))
    assert told == (Adjustment("text_only", "p takes no tools: the calls and results of before go out in words"),)


def test_pictures_of_results_that_cannot_be_shown_are_words_before_calls_are() -> None:
    talk = Conversation((user(), assistant(call("a")), ToolResultsTurn((ToolResult("a", "ok", (PNG,)),))))
    able = Capabilities(supports_tools=False, images="none")
    sent, told = adjusted(replace(request("m"), conversation=talk, tools=()), able)
    (_, _, said) = sent.turns
    assert isinstance(said, UserTurn)
    assert [type(item) for item in said.items] == [Text]
    assert [one.kind for one in told] == ["media_left_out", "text_only"]


def test_media_that_stay_behind_and_the_repairs_that_do_not() -> None:
    showing = ToolResultsTurn((ToolResult("a", "ok", (PNG,)),))
    talk = Conversation.repaired((user(), assistant(call("a")), showing, results("orphan")))
    assert [one.kind for one in talk.repairs] == ["orphan_dropped"]
    sent, told = adjusted(replace(request("m"), conversation=talk), BLIND)
    text = "p cannot show the model what a tool gave: words about it go out instead"
    assert told == (Adjustment("media_left_out", text),)
    assert sent.conversation.repairs == talk.repairs


def test_only_what_cannot_be_shown_is_told_in_words() -> None:
    pdf = Document("application/pdf", b"%PDF-")
    talk = Conversation((user(), assistant(call("a")), ToolResultsTurn((ToolResult("a", "ok", (PNG, pdf)),))))
    sent, _ = adjusted(replace(request("m"), conversation=talk), Capabilities(media=frozenset(("image",))))
    (told,) = sent.conversation.results()
    assert told.content == (PNG, Text("[application/pdf, 5 bytes: this model cannot be shown it]"))


def after_a_change(model: str) -> AdapterCallRequest:
    """A request whose system text is not the one that its thinking was made after."""
    first, thought = request(model), Opaque(Owner("p", model), "thinking", "{}")
    said = AssistantTurn(bound((thought, Text("a")), first), Owner("p", model))
    return replace(first, conversation=first.conversation.grown(said, user()), system="another")


def test_thinking_that_stays_behind() -> None:
    """Spec section 3, law 3."""
    sent, told = adjusted(after_a_change("claude-opus-5-5"), MESSAGES)
    assert sent.turns[1] == AssistantTurn((Text("a"),), Owner("p", "claude-opus-5-5"))
    why = "system text, tools or earlier turns changed, so the thinking from before stays behind"
    assert told == (Adjustment("thinking_dropped", f"model claude-opus-5-5: {why}"),)


@pytest.mark.parametrize("thinking", [None, ThinkingBudget(1024)], ids=repr)
def test_thinking_that_is_bound_to_nothing_goes_back_whatever_changed(thinking: Thinking | None) -> None:
    asked = replace(after_a_change(SONNET), thinking=thinking)
    assert adjusted(asked, MESSAGES) == (asked, ())
