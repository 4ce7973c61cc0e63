"""What may leave for an adapter, and what is refused before it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import (
    Document,
    DocumentUrl,
    Image,
    ImageUrl,
    Media,
    MediaKind,
    Opaque,
    Owner,
    Text,
    ToolResult,
)
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.models import THINKING_KINDS, ModelRow
from geode.domain.negotiation import Negotiated, negotiate
from geode.domain.request import EVERY_MEDIA, AdapterCallRequest, Capabilities, Limits
from geode.domain.schema_profile import OPENAI
from geode.domain.thinking import AdaptiveThinking, ThinkingBudget
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, UserTurn
from tests.unit.domain.builders import assistant, call, results, spec, user
from tests.unit.domain.rows import CLAUDE, GPT, GPT_CHAT, RELAYED

TOOLS = (spec("t1"), spec("t2"))


def request(choice: ToolChoice = Auto(), *, tools: bool = True, model: str = "acme-1") -> AdapterCallRequest:
    return AdapterCallRequest(model, Conversation((user(),)), "system", TOOLS if tools else (), choice)


def refused(given: AdapterCallRequest, able: Capabilities) -> str:
    return negotiate("acme-payg", given, able).swap().unwrap()


def left(given: AdapterCallRequest, able: Capabilities) -> AdapterCallRequest:
    return negotiate("acme-payg", given, able).unwrap().request


CAN_ALL = Capabilities()
TEXT_ONLY = Capabilities(supports_tools=False)
AUTO_ONLY = Capabilities(choices=frozenset({"auto", "none"}))
SOME_AUTO_ONLY = Capabilities(models=(ModelRow("acme-1", forced_choice=False), ModelRow("old-", forced_choice=False)))
CHOICES = [Auto(), NoTools(), Required(), Named("t1")]


@pytest.mark.parametrize("choice", CHOICES, ids=repr)
def test_every_choice_leaves_as_it_is_where_it_can_be_carried(choice: ToolChoice) -> None:
    given = request(choice)
    assert left(given, CAN_ALL) == given


@pytest.mark.parametrize("choice", [Auto(), NoTools()], ids=repr)
@pytest.mark.parametrize("able", [CAN_ALL, AUTO_ONLY, SOME_AUTO_ONLY, TEXT_ONLY], ids=range(4))
def test_without_tools_nothing_is_forced_and_nothing_refused(choice: ToolChoice, able: Capabilities) -> None:
    given = request(choice, tools=False)
    assert left(given, able) == given


@pytest.mark.parametrize("able", [CAN_ALL, TEXT_ONLY], ids=["tools", "text-only"])
def test_forcing_without_tools_is_refused(able: Capabilities) -> None:
    assert refused(request(Required(), tools=False), able) == "tool_choice required needs tools, this request has none"
    assert refused(request(Named("t1"), tools=False), able) == 'tool_choice names "t1", this request has: no tools'


def test_a_named_tool_must_be_there() -> None:
    assert refused(request(Named("nope")), CAN_ALL) == 'tool_choice names "nope", this request has: t1, t2'


def test_no_tools_is_never_said_by_dropping_the_tools() -> None:
    sent = left(request(NoTools()), CAN_ALL)
    assert (sent.tools, sent.tool_choice) == (TOOLS, NoTools())


@pytest.mark.parametrize("able", [TEXT_ONLY, AUTO_ONLY, SOME_AUTO_ONLY], ids=["text-only", "by wire", "by model"])
@pytest.mark.parametrize(("choice", "shown"), [(Required(), "required"), (Named("t2"), '"t2"')], ids=["required", "named"])
def test_a_force_that_cannot_be_carried_is_refused_by_name(able: Capabilities, choice: ToolChoice, shown: str) -> None:
    assert refused(request(choice), able) == f"acme-payg: model acme-1 cannot be given tool_choice {shown}"


@pytest.mark.parametrize("choice", [Auto(), NoTools()], ids=repr)
def test_models_that_cannot_be_forced_take_the_rest(choice: ToolChoice) -> None:
    assert left(request(choice), SOME_AUTO_ONLY) == request(choice)


def test_only_the_models_named_are_bound() -> None:
    given = request(Required(), model="acme-2")
    assert left(given, SOME_AUTO_ONLY) == given
    assert refused(request(Required(), model="old-7"), SOME_AUTO_ONLY).startswith("acme-payg: model old-7 cannot")


def test_a_wire_without_a_word_for_none() -> None:
    able = Capabilities(choices=frozenset({"auto"}))
    assert refused(request(NoTools()), able) == "acme-payg: model acme-1 cannot be given tool_choice none"
    assert left(request(Auto()), able) == request(Auto())


@pytest.mark.parametrize("choice", [Auto(), NoTools()], ids=repr)
def test_a_text_only_adapter_gets_no_tools(choice: ToolChoice) -> None:
    assert left(request(choice), TEXT_ONLY) == replace(request(), tools=(), tool_choice=Auto())


def test_a_schema_for_the_answer_is_carried_or_refused_by_name() -> None:
    asked = replace(request(), response_schema={"type": "object"})
    said = "acme-payg: model acme-1 cannot be given a response_schema here; leave it out, and ask for JSON in words"
    assert refused(asked, CAN_ALL) == said
    assert left(asked, Capabilities(response_schema=True)).response_schema == {"type": "object"}
    assert left(replace(asked, response_schema=None), CAN_ALL).response_schema is None


def test_settings_that_the_adapter_does_not_take_are_refused_and_never_dropped() -> None:
    bare = Capabilities(temperature=False, effort=False)
    assert refused(replace(request(), temperature=0.0), bare) == "acme-payg: model acme-1 takes no temperature; leave it out"
    assert refused(replace(request(), effort="high"), bare) == "acme-payg: model acme-1 takes no effort; leave it out"
    assert left(request(), bare) == request()
    full = replace(request(), temperature=0.0, effort="high")
    assert left(full, CAN_ALL) == full


# ---- settings by model -------------------------------------------------------------------------

MESSAGES = Capabilities(temperature=False, thinking=THINKING_KINDS, models=CLAUDE)
RESPONSES = Capabilities(models=GPT)
CHAT = Capabilities(models=GPT_CHAT)
RELAY = Capabilities(models=RELAYED)
FORCED = [Required(), Named("t1")]


def asked(model: str, able: Capabilities, **changes: Any) -> str | None:
    """Why a request with tools to `model` must not leave, or None."""
    return negotiate("p", replace(request(model=model), **changes), able).swap().value_or(None)


@pytest.mark.parametrize("choice", FORCED, ids=repr)
def test_a_forced_choice_goes_with_adaptive_thinking_and_not_with_a_budget(choice: ToolChoice) -> None:
    """TC-04, TC-05: what the provider refuses is one exact mode; the other is taken."""
    model = "claude-opus-4-6"
    assert asked(model, MESSAGES, tool_choice=choice, thinking=AdaptiveThinking()) is None
    why = asked(model, MESSAGES, tool_choice=choice, thinking=ThinkingBudget(2000))
    assert why is not None
    assert why.startswith(f"p: model {model} cannot be given tool_choice ")
    assert "thinking budget" in why
    assert asked(model, MESSAGES, tool_choice=NoTools(), thinking=ThinkingBudget(2000)) is None


@pytest.mark.parametrize("choice", FORCED, ids=repr)
def test_reasoning_that_a_relay_would_drop_is_not_sent_beside_a_force(choice: ToolChoice) -> None:
    """TC-06"""
    model = "anthropic/claude-sonnet-4.5"
    why = asked(model, RELAY, tool_choice=choice, effort="high")
    assert why is not None
    assert "leave the choice or the effort out" in why
    assert asked(model, RELAY, tool_choice=choice) is None
    assert asked(model, RELAY, effort="high") is None
    assert asked("openai/gpt-5", RELAY, tool_choice=choice, effort="high") is None


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-1"])
def test_models_that_take_no_force(model: str) -> None:
    assert asked(model, MESSAGES, tool_choice=Required()) == f"p: model {model} cannot be given tool_choice required"
    assert asked(model, MESSAGES, tool_choice=NoTools()) is None
    assert asked("claude-opus-5", MESSAGES, tool_choice=Required()) is None
    assert asked("claude-of-tomorrow", MESSAGES, tool_choice=Required()) is None


@pytest.mark.parametrize(
    ("model", "adaptive", "budget"),
    [
        ("claude-opus-4-5-20251101", False, True),
        ("claude-sonnet-4-20250514", False, True),
        ("claude-3-7-sonnet-latest", False, True),
        ("claude-opus-4-6", True, True),
        ("claude-opus-4-7", True, False),
        ("claude-sonnet-5", True, False),
        ("claude-haiku-5-5", True, False),
        ("claude-of-tomorrow", True, True),
    ],
)
def test_modes_of_thinking_by_model(model: str, adaptive: bool, budget: bool) -> None:
    assert (asked(model, MESSAGES, thinking=AdaptiveThinking()) is None) is adaptive
    assert (asked(model, MESSAGES, thinking=ThinkingBudget(1024)) is None) is budget


def test_a_wire_without_a_thinking_setting_says_so() -> None:
    why = "p: model gpt-5 takes no thinking setting on this wire; effort is what it has"
    assert asked("gpt-5", RESPONSES, thinking=AdaptiveThinking()) == why


def test_what_is_thought_has_to_fit_into_the_output() -> None:
    model = "claude-sonnet-4-5"
    assert asked(model, MESSAGES, thinking=ThinkingBudget(2000), limits=Limits(2000)) == (
        f"p: model {model} needs more output tokens than its thinking budget of 2000, not 2000"
    )
    assert asked(model, MESSAGES, thinking=ThinkingBudget(2000), limits=Limits(2001)) is None
    with pytest.raises(Misuse, match="1024 tokens or more, got 1023"):
        ThinkingBudget(1023)


def test_under_a_budget_a_round_goes_on_only_from_its_own_thinking() -> None:
    """The reply that the results belong to has to begin with thinking of this very model."""
    me, model = Owner("p", "claude-sonnet-4-5"), "claude-sonnet-4-5"
    thought, foreign = Opaque(me, "thinking", "{}"), Opaque(Owner("q", "m"), "thinking", "{}")
    for items, taken in (((thought, call("a")), True), ((call("a"),), False), ((foreign, call("a")), False)):
        talk = Conversation((user(), AssistantTurn(items, me), results("a")))
        given = {"conversation": talk, "thinking": ThinkingBudget(1024)}
        assert (asked(model, MESSAGES, **given) is None) is taken
        # What the user says after results is one message with them; after an answer it begins anew.
        assert (asked(model, MESSAGES, **{**given, "conversation": talk.grown(user())}) is None) is taken
        answered = talk.grown(AssistantTurn((Text("So."),), me), user())
        assert asked(model, MESSAGES, **{**given, "conversation": answered}) is None
        assert asked(model, MESSAGES, conversation=talk) is None


NO_OBJECT = "a response_schema describes an object at its root: put the value into a property of one"


@pytest.mark.parametrize(
    ("able", "schema", "why"),
    [
        ({"schemas": OPENAI}, {"type": "object"}, None),
        ({"schemas": None}, {"type": "array"}, None),
        (
            {"schemas": OPENAI},
            {"type": "array"},
            f"p: model m cannot be given a response_schema: {NO_OBJECT}",
        ),
        (
            {"schemas": OPENAI, "schema_barred": "the account is not open for it"},
            {"type": "object"},
            "p: model m cannot be given a response_schema: the account is not open for it",
        ),
        (
            {"response_schema": False},
            {"type": "object"},
            "p: model m cannot be given a response_schema here; leave it out, and ask for JSON in words",
        ),
    ],
)
def test_a_schema_that_a_server_does_not_take_is_refused_here(able: Any, schema: Any, why: str | None) -> None:
    """Spec section 11."""
    assert asked("m", Capabilities(**{"response_schema": True, **able}), response_schema=schema) == why


@pytest.mark.parametrize(("tokens", "taken"), [(0, False), (1, True), (10, True), (11, False), (None, True)])
def test_more_output_than_a_server_can_be_asked_for_is_refused_here(tokens: int | None, taken: bool) -> None:
    why = asked("m", Capabilities(most_output=10), limits=Limits(tokens))
    assert why == (None if taken else f"p: model m takes from 1 to 10 output tokens here, not {tokens}")


def test_after_a_summary_a_round_goes_on_without_a_budget_whose_thinking_is_gone() -> None:
    """It was no mistake of the caller's; from the next prompt on the budget holds again."""
    me, model = Owner("p", "claude-sonnet-4-5"), "claude-sonnet-4-5"
    summary = UserTurn((), (Hint("summary", "It began to measure."),))
    rounds = (AssistantTurn((call("a"),), me), results("a"))
    request = AdapterCallRequest(model, Conversation((summary, user(), *rounds)), thinking=ThinkingBudget(1024))
    made = negotiate("p", request, MESSAGES).unwrap()
    assert made.request.thinking is None
    assert [(one.kind, one.text) for one in made.adjustments] == [
        (
            "thinking_dropped",
            f"model {model}: the thinking before its last calls was summarised, so it goes on without a budget",
        )
    ]
    after = replace(request, conversation=request.conversation.grown(AssistantTurn((Text("So."),), me), user()))
    again = negotiate("p", after, MESSAGES).unwrap()
    assert (again.request.thinking, again.adjustments) == (ThinkingBudget(1024), ())


def test_what_the_server_called_itself_does_not_end_a_round_that_began_without_thinking() -> None:
    """It may not go out at all, and then what the user says continues the round."""
    me, model = Owner("p", "claude-sonnet-4-5"), "claude-sonnet-4-5"
    searching = AssistantTurn((Opaque(me, "server_tool_use", "{}"), Text("")), me)
    talk = Conversation((user(), AssistantTurn((call("a"),), me), results("a"), searching, user()))
    assert asked(model, MESSAGES, conversation=talk, thinking=ThinkingBudget(1024)) is not None
    said = Conversation((*talk.turns[:3], AssistantTurn((Text("So."),), me), user()))
    assert asked(model, MESSAGES, conversation=said, thinking=ThinkingBudget(1024)) is None


@pytest.mark.parametrize(
    ("model", "unset", "none", "high"),
    [("gpt-5.2", True, True, True), ("gpt-5.4-mini", True, True, False), ("gpt-5.5", False, True, False)],
)
def test_effort_beside_tools_on_chat(model: str, unset: bool, none: bool, high: bool) -> None:
    for effort, taken in ((None, unset), ("none", none), ("high", high)):
        why = asked(model, CHAT, effort=effort)
        assert (why is None) is taken
        assert why is None or why.endswith("the Responses wire")
        assert asked(model, CHAT, effort=effort, tools=()) is None
        assert asked(model, RESPONSES, effort=effort) is None


def test_a_temperature_that_is_the_default_is_left_out_and_another_refused() -> None:
    """Spec section 9: on models that reason."""
    reasons = request(model="gpt-5.2")
    assert left(replace(reasons, temperature=1.0), RESPONSES).temperature is None
    assert asked("gpt-5", RESPONSES, temperature=0.0) == "p: model gpt-5 takes no temperature but its default; leave it out"
    assert asked("o3-mini", CHAT, temperature=0.5) is not None
    assert left(replace(request(model="gpt-4o"), temperature=1.0), RESPONSES).temperature == 1.0
    assert asked("gpt-5.1", RESPONSES, temperature=0.2, effort="none") is None
    assert asked("gpt-5.4-nano", RESPONSES, temperature=0.0) is None, "recorded: it does not reason unless told to"
    assert asked("gpt-5.1", RESPONSES, temperature=0.2, effort="low") is not None
    assert asked("openai/gpt-5.1", RELAY, temperature=0.2, effort="none") is not None
    assert asked("gpt-5-chat-latest", CHAT, temperature=0.2) is None


# ---- media -------------------------------------------------------------------------------------

PNG = Image("image/png", b"\x89PNG\r\n\x1a\n")
PDF = Document("application/pdf", b"%PDF-1.4")
MEDIA: list[tuple[MediaKind, Media, str]] = [
    ("image", PNG, "image/png, 8 bytes"),
    ("image_url", ImageUrl("https://x.org/a.png"), "an image at https://x.org/a.png"),
    ("pdf", PDF, "application/pdf, 8 bytes"),
    ("text", Document("text/plain", b"abc"), "text/plain, 3 bytes"),
    ("document_url", DocumentUrl("https://x.org/a.pdf"), "a document at https://x.org/a.pdf"),
]


@pytest.mark.parametrize(("kind", "part", "shown"), MEDIA)
def test_what_a_user_shows_is_sent_or_refused(kind: MediaKind, part: Media, shown: str) -> None:
    given = replace(request(), conversation=Conversation((user(), UserTurn((Text("look"), part)))))
    lacking = Capabilities(media=EVERY_MEDIA - {kind})
    assert refused(given, lacking) == f"acme-payg: model acme-1 cannot be sent {shown} (user turn 1) on this wire"
    assert left(given, Capabilities(media=frozenset({kind}))) == given


@pytest.mark.parametrize(("kind", "part", "shown"), MEDIA)
def test_what_a_tool_shows_is_sent_or_told_in_words(kind: MediaKind, part: Media, shown: str) -> None:
    """A run does not end for what a tool gave, and nothing is lost without a word to the model and to observers."""
    given = ToolResult("a", "failed", (Text("before"), part, Text("after")))
    talk = Conversation((user(), assistant(call("a")), ToolResultsTurn((given,))))
    whole = replace(request(), conversation=talk)
    assert negotiate("p", whole, Capabilities(media=frozenset({kind}))).unwrap() == Negotiated(whole)
    lacking = EVERY_MEDIA - {kind}
    for able in (Capabilities(media=lacking), Capabilities(images="none")):
        sent = negotiate("p", whole, able).unwrap()
        (told,) = sent.request.conversation.results()
        # What a plain text says can always be told.
        words = "abc" if kind == "text" else f"[{shown}: this model cannot be shown it]"
        assert (told.kind, told.text) == ("failed", f"before\n{words}\nafter")
        assert told.media == ()
        assert [one.kind for one in sent.adjustments] == ["media_left_out"]
    assert talk.turns[2] == ToolResultsTurn((given,)), "what is stored stays as it is"


# ---- efforts, ranges, and what says nothing ----------------------------------------------------


@pytest.mark.parametrize(
    ("able", "model", "taken", "refused"),
    [
        (MESSAGES, "claude-sonnet-4-5", [], ["low", "max"]),
        (MESSAGES, "claude-opus-4-5", ["low", "high"], ["xhigh", "max"]),
        (MESSAGES, "claude-opus-4-6", ["max"], ["xhigh", "none"]),
        (MESSAGES, "claude-haiku-5-5", ["xhigh", "max"], ["none"]),
        (RESPONSES, "gpt-4o-mini", [], ["none", "low"]),
        (RESPONSES, "o3-mini", ["low"], ["none", "minimal", "xhigh"]),
        (RESPONSES, "gpt-5-mini", ["minimal"], ["none", "xhigh"]),
        (RESPONSES, "gpt-5.2", ["none", "xhigh"], ["minimal", "max"]),
        (RESPONSES, "gpt-5.6", ["max"], ["minimal"]),
        (RESPONSES, "unheard-of", ["none", "max", "anything"], []),
    ],
)
def test_an_effort_that_is_known_not_to_be_taken_is_refused(
    able: Capabilities, model: str, taken: list[str], refused: list[str]
) -> None:
    """Spec section 9: never raised, lowered or dropped."""
    assert [effort for effort in taken if asked(model, able, effort=effort)] == []
    assert [effort for effort in refused if not asked(model, able, effort=effort)] == []


@pytest.mark.parametrize("temperature", [-0.1, 2.1, 5.0])
def test_a_temperature_beyond_all_scales_is_refused(temperature: float) -> None:
    why = asked("gpt-4o", CHAT, temperature=temperature)
    assert why == f"p: model gpt-4o takes a temperature from 0 to 2, not {temperature:g}"


def test_a_conversation_that_says_nothing_does_not_leave() -> None:
    foreign = AssistantTurn((Opaque(Owner("q", "m"), "thinking", "{}"),), Owner("q", "m"))
    for turns in ((), (UserTurn((Text(" "),)),), (UserTurn(()), foreign)):
        given = replace(request(), conversation=Conversation(turns))
        assert refused(given, CAN_ALL).startswith("the conversation says nothing that could be answered")


def test_more_tools_than_openai_takes_do_not_leave() -> None:
    able = Capabilities(models=GPT, schemas=OPENAI)
    many = tuple(spec(f"t{number}") for number in range(129))
    assert asked("gpt-4o", able, tools=many[:128]) is None
    why = asked("gpt-4o", able, tools=many)
    assert why == "p: 129 tools are too many for this server, which takes 128; give the session fewer"


# ---- many tools --------------------------------------------------------------------------------------

MANY = (spec("t1"), spec("t2"), spec("t3"), spec("search_tools"))
SEARCHES = Capabilities(tool_search=True, models=(ModelRow("acme-", tool_search=True),))
TOO_MANY = Capabilities(tool_search=True, models=SEARCHES.models, schemas=replace(OPENAI, most_tools=2))


def deferring(*names: str, choice: ToolChoice = Auto()) -> AdapterCallRequest:
    return replace(request(choice), tools=MANY, deferred=frozenset(names))


def sent(given: AdapterCallRequest, able: Capabilities) -> tuple[list[str], set[str]]:
    """The names of the tools that leave, and of those that leave marked."""
    gone = left(given, able)
    return [tool.name for tool in gone.tools], set(gone.deferred)


@pytest.mark.parametrize(
    "able",
    [
        CAN_ALL,
        Capabilities(tool_search=True),
        Capabilities(models=SEARCHES.models),
        # All of them would be refused, and what is left is not.
        TOO_MANY,
    ],
)
def test_deferred_tools_stay_behind_where_the_server_does_not_search_them(able: Capabilities) -> None:
    assert sent(deferring("t2", "t3"), able) == (["t1", "search_tools"], set())


def test_deferred_tools_go_out_marked_and_without_the_search_tool_where_the_server_searches_them() -> None:
    assert sent(deferring("t2", "t3", "gone"), SEARCHES) == (["t1", "t2", "t3"], {"t2", "t3"})


@pytest.mark.parametrize(("able", "marked"), [(CAN_ALL, set[str]()), (SEARCHES, {"t3"})])
def test_a_deferred_tool_that_the_choice_names_goes_out_as_any(able: Capabilities, marked: set[str]) -> None:
    names, deferred = sent(deferring("t2", "t3", choice=Named("t2")), able)

    assert "t2" in names
    assert deferred == marked


def test_the_search_tool_may_be_named_whoever_searches() -> None:
    for able in (CAN_ALL, SEARCHES):
        assert "search_tools" in sent(deferring("t2", choice=Named("search_tools")), able)[0]


def test_where_only_the_named_tool_is_deferred_the_list_keeps_the_search_tool() -> None:
    for able in (CAN_ALL, SEARCHES):
        assert sent(deferring("t2", choice=Named("t2")), able) == (["t1", "t2", "t3", "search_tools"], set())


def test_a_request_without_deferred_tools_leaves_as_it_is() -> None:
    given = replace(request(), tools=MANY)

    assert left(given, SEARCHES) == left(given, CAN_ALL) == given


def test_a_model_that_takes_no_tools_is_told_of_none() -> None:
    assert sent(deferring("t2"), TEXT_ONLY) == ([], set())


def test_only_what_leaves_has_to_fit_the_server() -> None:
    strict = ToolSpec("t2", "", {"type": "object", "properties": {"v": {"oneOf": [{"type": "string"}]}}}, strict=True)
    able = Capabilities(schemas=OPENAI)
    given = replace(deferring("t2"), tools=(MANY[0], strict, MANY[3]))

    assert sent(given, able) == (["t1", "search_tools"], set())
    assert "t2" in refused(replace(given, deferred=frozenset()), able)
