"""Tool choice: every accepted spelling, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice, choice_word, parse_choice

ACCEPTED: list[tuple[Any, ToolChoice]] = [
    ("auto", Auto()),
    ({"type": "auto"}, Auto()),
    ("none", NoTools()),
    ({"type": "none"}, NoTools()),
    ("required", Required()),
    ("any", Required()),
    ({"type": "required"}, Required()),
    ({"type": "any"}, Required()),
    ({"type": "tool", "name": "w"}, Named("w")),
    ({"type": "function", "name": "w"}, Named("w")),
    ({"type": "function", "function": {"name": "w"}}, Named("w")),
    ({"name": "w"}, Named("w")),
    ({"function": {"name": "w"}}, Named("w")),
    # The neutral values themselves.
    (Auto(), Auto()),
    (NoTools(), NoTools()),
    (Required(), Required()),
    (Named("w"), Named("w")),
]


@pytest.mark.parametrize(("given", "neutral"), ACCEPTED, ids=repr)
def test_accepted_spellings(given: Any, neutral: ToolChoice) -> None:
    assert parse_choice(given).unwrap() == neutral


REFUSED: list[Any] = [
    "garbage",
    "sometimes",
    "AUTO",
    " auto",
    "",
    None,
    5,
    1.0,
    True,
    [],
    ["auto"],
    {},
    {"type": 5},
    {"type": ["auto"]},
    {"type": "garbage"},
    {"type": "tool"},
    {"type": "function"},
    {"type": "tool", "name": ""},
    {"type": "tool", "name": "  "},
    {"type": "tool", "name": 7},
    {"type": "tool", "function": {"name": "w"}},
    {"type": "function", "function": {}},
    {"type": "function", "function": {"name": None}},
    {"type": "allowed_tools", "mode": "auto", "tools": []},
    {"type": "allowed_tools", "name": "w"},
    {"name": ""},
    {"function": {"name": " "}},
    {"function": "w"},
    Named(""),
    Named("  "),
]


@pytest.mark.parametrize("given", REFUSED, ids=repr)
def test_everything_else_is_an_error_and_never_auto(given: Any) -> None:
    why = parse_choice(given).swap().unwrap()
    shown = f'"{given}"' if isinstance(given, str) else repr(given)
    assert why == f'tool_choice {shown} is unknown. Accepted: auto, none, required, {{"name": …}}'


def test_the_message_for_an_unknown_word() -> None:
    why = parse_choice("sometimes").swap().unwrap()
    assert why == 'tool_choice "sometimes" is unknown. Accepted: auto, none, required, {"name": …}'


@pytest.mark.parametrize(
    ("choice", "word"), [(Auto(), "auto"), (NoTools(), "none"), (Required(), "required"), (Named("w"), "named")]
)
def test_the_word_under_which_adapters_declare_it(choice: ToolChoice, word: str) -> None:
    assert choice_word(choice) == word
