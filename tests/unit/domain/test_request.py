"""What may leave for an adapter, and what is refused before it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.request import AdapterCallRequest, Capabilities, Limits, forced_choice, negotiate
from tests.unit.domain.builders import spec, user

TOOLS = (spec("t1"), spec("t2"))


def request(choice: ToolChoice = Auto(), *, tools: bool = True, model: str = "acme-1") -> AdapterCallRequest:
    return AdapterCallRequest(model, Conversation((user(),)), "system", TOOLS if tools else (), choice)


def refused(given: AdapterCallRequest, able: Capabilities) -> str:
    return negotiate("acme-payg", given, able).swap().unwrap()


CAN_ALL = Capabilities()
TEXT_ONLY = Capabilities(supports_tools=False)
AUTO_ONLY = Capabilities(choices=frozenset({"auto", "none"}))
SOME_AUTO_ONLY = Capabilities(auto_only_models=("acme-1", "old-"))
CHOICES = [Auto(), NoTools(), Required(), Named("t1")]


def test_limits_by_default() -> None:
    assert Limits() == Limits(max_output_tokens=None, call_timeout_seconds=600.0, idle_timeout_seconds=120.0)


def test_an_adapter_can_all_unless_it_says_otherwise() -> None:
    assert Capabilities() == Capabilities(True, frozenset({"auto", "none", "required", "named"}), (), "in_result", True, True)


def test_a_request_asks_for_nothing_unless_it_says_so() -> None:
    bare = AdapterCallRequest("m", Conversation((user(),)))
    assert (bare.system, bare.tools, bare.tool_choice, bare.limits) == ("", (), Auto(), Limits())
    assert (bare.effort, bare.temperature, bare.streamed) == (None, None, False)
    assert bare.turns == (user(),)


@pytest.mark.parametrize("choice", CHOICES, ids=repr)
def test_every_choice_leaves_as_it_is_where_it_can_be_carried(choice: ToolChoice) -> None:
    given = request(choice)
    assert negotiate("acme-payg", given, CAN_ALL).unwrap() == given


@pytest.mark.parametrize("choice", [Auto(), NoTools()], ids=repr)
@pytest.mark.parametrize("able", [CAN_ALL, AUTO_ONLY, SOME_AUTO_ONLY, TEXT_ONLY], ids=range(4))
def test_without_tools_nothing_is_forced_and_nothing_refused(choice: ToolChoice, able: Capabilities) -> None:
    given = request(choice, tools=False)
    assert negotiate("acme-payg", given, able).unwrap() == given


@pytest.mark.parametrize("able", [CAN_ALL, TEXT_ONLY], ids=["tools", "text-only"])
def test_forcing_without_tools_is_refused(able: Capabilities) -> None:
    assert refused(request(Required(), tools=False), able) == "tool_choice required needs tools, this request has none"
    assert refused(request(Named("t1"), tools=False), able) == 'tool_choice names "t1", this request has: no tools'


def test_a_named_tool_must_be_there() -> None:
    assert refused(request(Named("nope")), CAN_ALL) == 'tool_choice names "nope", this request has: t1, t2'


def test_no_tools_is_never_said_by_dropping_the_tools() -> None:
    left = negotiate("acme-payg", request(NoTools()), CAN_ALL).unwrap()
    assert (left.tools, left.tool_choice) == (TOOLS, NoTools())


@pytest.mark.parametrize("able", [TEXT_ONLY, AUTO_ONLY, SOME_AUTO_ONLY], ids=["text-only", "by wire", "by model"])
@pytest.mark.parametrize(("choice", "shown"), [(Required(), "required"), (Named("t2"), '"t2"')], ids=["required", "named"])
def test_a_force_that_cannot_be_carried_is_refused_by_name(able: Capabilities, choice: ToolChoice, shown: str) -> None:
    assert refused(request(choice), able) == f"acme-payg: model acme-1 cannot be given tool_choice {shown}"


@pytest.mark.parametrize("choice", [Auto(), NoTools()], ids=repr)
def test_models_that_cannot_be_forced_take_the_rest(choice: ToolChoice) -> None:
    assert negotiate("acme-payg", request(choice), SOME_AUTO_ONLY).unwrap() == request(choice)


def test_only_the_models_named_are_bound() -> None:
    given = request(Required(), model="acme-2")
    assert negotiate("acme-payg", given, SOME_AUTO_ONLY).unwrap() == given
    assert refused(request(Required(), model="old-7"), SOME_AUTO_ONLY).startswith("acme-payg: model old-7 cannot")


def test_a_wire_without_a_word_for_none() -> None:
    able = Capabilities(choices=frozenset({"auto"}))
    assert refused(request(NoTools()), able) == "acme-payg: model acme-1 cannot be given tool_choice none"
    assert negotiate("acme-payg", request(Auto()), able).unwrap() == request(Auto())


@pytest.mark.parametrize("choice", [Auto(), NoTools()], ids=repr)
def test_a_text_only_adapter_gets_no_tools(choice: ToolChoice) -> None:
    assert negotiate("claude-cli", request(choice), TEXT_ONLY).unwrap() == replace(request(), tools=(), tool_choice=Auto())


def test_settings_that_the_adapter_does_not_take_are_refused_and_never_dropped() -> None:
    bare = Capabilities(temperature=False, effort=False)
    assert refused(replace(request(), temperature=0.0), bare) == "acme-payg: model acme-1 takes no temperature; leave it out"
    assert refused(replace(request(), effort="high"), bare) == "acme-payg: model acme-1 takes no effort; leave it out"
    assert negotiate("acme-payg", request(), bare).unwrap() == request()
    full = replace(request(), temperature=0.0, effort="high")
    assert negotiate("acme-payg", full, CAN_ALL).unwrap() == full


@pytest.mark.parametrize(
    ("given", "choice"),
    [(None, Auto()), ("any", Required()), ({"name": "t2"}, Named("t2")), ("none", NoTools()), (Named("t1"), Named("t1"))],
    ids=repr,
)
def test_the_callers_choice(given: Any, choice: ToolChoice) -> None:
    assert forced_choice(given, TOOLS) == choice


def test_the_callers_choice_is_checked_before_anything_leaves() -> None:
    with pytest.raises(Misuse) as unknown:
        forced_choice("sometimes", TOOLS)
    assert str(unknown.value) == (
        'tool_choice "sometimes" is unknown. Accepted: auto, none, required, {"name": …} [tool-choice]'
    )
    with pytest.raises(Misuse) as missing:
        forced_choice({"name": "nope"}, (spec("get_weather"),))
    assert str(missing.value) == 'tool_choice names "nope", this request has: get_weather [tool-choice]'
    with pytest.raises(Misuse) as none:
        forced_choice({"name": "nope"}, ())
    assert str(none.value) == 'tool_choice names "nope", this request has: no tools [tool-choice]'
