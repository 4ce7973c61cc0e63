"""What may leave for an adapter, and what is refused before it does."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.request import AdapterCallRequest, Capabilities, Limits, forced_choice
from tests.unit.domain.builders import spec, user

TOOLS = (spec("t1"), spec("t2"))


def test_limits_by_default() -> None:
    assert Limits() == Limits(max_output_tokens=None, call_timeout_seconds=600.0, idle_timeout_seconds=120.0)


def test_an_adapter_can_all_unless_it_says_otherwise() -> None:
    assert Capabilities() == Capabilities(
        supports_tools=True,
        choices=frozenset({"auto", "none", "required", "named"}),
        images="in_result",
        media=frozenset({"image", "image_url", "pdf", "text", "document_url"}),
        temperature=True,
        effort=True,
        thinking=frozenset(),
        models=(),
    )


def test_a_request_asks_for_nothing_unless_it_says_so() -> None:
    bare = AdapterCallRequest("m", Conversation((user(),)))
    assert (bare.system, bare.tools, bare.tool_choice, bare.limits) == ("", (), Auto(), Limits())
    assert (bare.effort, bare.temperature, bare.streamed) == (None, None, False)
    assert bare.turns == (user(),)


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"choices": {"auto", "any"}}, "choices=…) has no word 'any'; it takes auto, named, none, required"),
        ({"media": {"document"}}, "media=…) has no word 'document'; it takes document_url, image, image_url, pdf, text"),
        ({"thinking": {"on", "off"}}, "thinking=…) has no word 'off'; it takes adaptive, budget"),
        ({"images": "yes"}, "images=…) has no word 'yes'; it takes after_results, in_result, none"),
    ],
)
def test_a_word_that_is_no_capability_is_refused(words: Any, said: str) -> None:
    with pytest.raises(Misuse) as caught:
        Capabilities(**words)
    assert str(caught.value) == f"Capabilities({said} [capability]"
    assert caught.value.id == "capability"
