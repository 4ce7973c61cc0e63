"""What a caller may say to OpenRouter of the route, and what is said of anything else."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.relay import NO_OPTIONS, RelayOptions, relay_options

EVERYTHING: dict[str, Any] = {
    "order": ["anthropic", "google"],
    "only": ["anthropic"],
    "ignore": ["deepinfra"],
    "quantizations": ["fp8"],
    "allow_fallbacks": False,
    "require_parameters": True,
    "zdr": True,
    "enforce_distillable_text": False,
    "data_collection": "deny",
    "sort": "price",
}


def test_nothing_given_is_nothing_sent() -> None:
    empty: dict[str, Any] = {}
    for given in (None, empty):
        options = relay_options(given).unwrap()
        assert options == NO_OPTIONS
        assert (options.routing, options.headers) == ({}, {})


def test_every_option_goes_out_as_it_was_given() -> None:
    assert relay_options(EVERYTHING).unwrap().routing == EVERYTHING


def test_a_program_may_say_what_it_is_called_and_that_is_no_part_of_the_route() -> None:
    options = relay_options({"app_title": "My Program", "app_url": "https://example.org/p"}).unwrap()
    assert options.headers == {"X-Title": "My Program", "HTTP-Referer": "https://example.org/p"}
    assert options.routing == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ordr": ["a"]}, "OpenRouter has no option 'ordr'; did you mean order?"),
        ({"require_parameter": True}, "did you mean require_parameters?"),
        ({"zzz": 1}, "OpenRouter has no option 'zzz'. Known: order, only, ignore"),
        ({7: 1}, "OpenRouter has no option 7. Known: order"),
        ({"order": "anthropic"}, "the option order is a list of one name or more, got a text"),
        ({"order": []}, "the option order is a list of one name or more, got list"),
        ({"only": [1]}, "the option only is a list of one name or more, got list"),
        ({"ignore": [" "]}, "the option ignore is a list of one name or more, got list"),
        ({"allow_fallbacks": "no"}, "the option allow_fallbacks is true or false, got a text"),
        ({"require_parameters": 0}, "the option require_parameters is true or false, got int"),
        ({"zdr": None}, "the option zdr is true or false, got NoneType"),
        ({"data_collection": "never"}, "the option data_collection is allow or deny, got another text"),
        ({"sort": "cheapest"}, "the option sort is price or throughput or latency, got another text"),
        ({"sort": ["price"]}, "the option sort is price or throughput or latency, got list"),
        ({"app_title": ""}, "the option app_title is a line of 1 to 200 ASCII characters"),
        ({"app_title": "a\nb"}, "the option app_title is a line of 1 to 200 ASCII characters"),
        ({"app_title": "ä"}, "the option app_title is a line of 1 to 200 ASCII characters"),
        ({"app_title": "x" * 201}, "the option app_title is a line of 1 to 200 ASCII characters"),
        ({"app_url": "example.org"}, "the option app_url is an http or https address"),
        ([("order", ["a"])], "the options of OpenRouter are a mapping, got list"),
        ("order", "the options of OpenRouter are a mapping, got str"),
    ],
)
def test_what_is_no_option_is_refused_with_what_was_probably_meant(given: object, said: str) -> None:
    assert said in relay_options(given).failure()


def test_the_first_that_is_wrong_is_named() -> None:
    assert "zdr" in relay_options({"order": ["a"], "zdr": 1, "sort": "x"}).failure()


def test_what_is_given_for_a_session_stands_before_what_was_declared() -> None:
    declared = RelayOptions(order=("a",), data_collection="deny", require_parameters=True)
    given = RelayOptions(order=("b",), require_parameters=False)
    assert given.over(declared) == RelayOptions(order=("b",), data_collection="deny", require_parameters=False)
    assert NO_OPTIONS.over(declared) == declared


def test_names_are_kept_as_they_cannot_be_changed() -> None:
    given = ["a", "b"]
    options = relay_options({"order": given}).unwrap()
    given.append("c")
    assert options.order == ("a", "b")


def test_what_is_said_of_an_address_that_is_none() -> None:
    assert relay_options({"app_url": "example.org"}).failure() == "the option app_url is an http or https address"


def test_the_longest_line_that_is_taken() -> None:
    assert relay_options({"app_title": "x" * 200}).unwrap().app_title == "x" * 200
