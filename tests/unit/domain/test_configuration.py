"""What can be configured, the order of the layers, and what is wrong in a config.toml."""

from __future__ import annotations

import datetime as dt
from itertools import combinations
from typing import Any

import pytest

from geode.domain.configuration import KEYS, LAYERS, Candidate, Layer, explain, key_named, value_problem, values_in
from geode.domain.errors import Misuse

MODEL = key_named("model")


def test_the_layers_are_those_of_the_specification_in_its_order() -> None:
    assert LAYERS == ("command line", "environment", "project config.toml", "global config.toml", "routing.toml")


def test_names_and_variables_are_unique_and_alike() -> None:
    assert len({key.name for key in KEYS}) == len({key.variable for key in KEYS}) == len(KEYS)
    singular = {key.name: key.name.replace("sources.", "source_").replace(".", "_").upper() for key in KEYS}
    assert {key.name: key.variable for key in KEYS} == {name: f"GEODE_{word}" for name, word in singular.items()}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("modle", 'there is no setting "modle"; did you mean model?'),
        ("sources.antropic", 'there is no setting "sources.antropic"; did you mean sources.anthropic?'),
        (
            "zzz",
            'there is no setting "zzz". Known: model, effort, reflection_model, summary_model, journal, mcp.config,',
        ),
    ],
)
def test_an_unknown_key_is_refused_with_the_closest(name: str, said: str) -> None:
    with pytest.raises(Misuse) as caught:
        key_named(name)
    assert caught.value.id == "config-key"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("name", ["mcp.servers", "mcp.servers.files.url", "mcp.trust_projects"])
def test_what_no_command_writes_is_told(name: str) -> None:
    with pytest.raises(Misuse, match=r"^mcp\.\w+ is written into a config.toml by hand; geode mcp list shows what it says"):
        key_named(name)


def test_a_key_is_found_by_its_name() -> None:
    assert [key_named(key.name) for key in KEYS] == list(KEYS)
    assert key_named("sources.openai").path == ("sources", "openai")


# ---- which wins --------------------------------------------------------------------------------


def test_all_five_layers_are_there_when_none_says_anything() -> None:
    explained = explain(MODEL, ())
    assert explained.key == MODEL
    assert explained.candidates == tuple(Candidate(layer, "") for layer in LAYERS)
    assert explained.winner is None
    assert explained.hidden == ()


@pytest.mark.parametrize(("strong", "weak"), [*combinations(LAYERS, 2)])
def test_the_stronger_of_two_layers_wins_however_they_are_given(strong: Layer, weak: Layer) -> None:
    one, other = Candidate(strong, "here", "strong"), Candidate(weak, "there", "weak")
    for given in ((one, other), (other, one)):
        explained = explain(MODEL, given)
        assert explained.winner == one
        assert explained.hidden == (other,)
        assert [one.layer for one in explained.candidates] == list(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("nothing", ["", " ", "\t\n"])
def test_an_empty_value_is_no_value_in_any_layer(layer: Layer, nothing: str) -> None:
    explained = explain(MODEL, (Candidate(layer, "here", nothing), Candidate(layer, "there")))
    assert explained.winner is None
    place = LAYERS.index(layer)
    assert explained.candidates[place : place + 2] == (Candidate(layer, "here, empty"), Candidate(layer, "there"))


def test_two_places_of_one_layer_keep_their_order_and_white_space_around_a_value_is_none_of_it() -> None:
    explained = explain(MODEL, (Candidate("environment", "a", " one\r"), Candidate("environment", "b", "two")))
    assert explained.winner == Candidate("environment", "a", "one")
    assert explained.hidden == (Candidate("environment", "b", "two"),)
    assert len(explained.candidates) == len(LAYERS) + 1


def test_equal_values_are_told_apart_by_their_place() -> None:
    both = (Candidate("environment", "a", "one"), Candidate("environment", "b", "one"))
    assert [one.place for one in explain(MODEL, both).hidden] == ["b"]


# ---- config.toml -------------------------------------------------------------------------------


def test_values_are_read_by_the_names_of_their_keys() -> None:
    values, problems = values_in({"model": "m", "sources": {"openai": "oauth", "glm": "payg"}})
    assert values == {"model": "m", "sources.openai": "oauth", "sources.glm": "payg"}
    assert problems == ()


@pytest.mark.parametrize(
    ("document", "path", "kind", "text"),
    [
        ({"modle": "m"}, ("modle",), "key", 'there is no setting "modle"; did you mean model?'),
        ({"sources": {"opneai": "x"}}, ("sources", "opneai"), "key", "did you mean sources.openai?"),
        ({"sources.openai": "x"}, ("sources.openai",), "key", 'there is no setting "sources.openai"'),
        ({"providers": {"lab": {}}}, ("providers",), "key", "[providers] belongs into routing.toml"),
        ({"sources": {"models": {}}}, ("sources", "models"), "key", 'there is no setting "sources.models"'),
        ({"sources": "payg"}, ("sources",), "value", "sources must be a table, got text. Write [sources]"),
        ({"model": ""}, ("model",), "value", "model is empty: give it a value, or take it out"),
        ({"model": " \n"}, ("model",), "value", "model is empty"),
        ({"model": "a\nb"}, ("model",), "value", "model has a line break in it, or another character that cannot be seen"),
        ({"model": "a\u200bb"}, ("model",), "value", "model has a line break in it"),
        ({"model": {"defaults": {}}}, ("model",), "value", "got a table; [model.defaults] and [model.fallbacks] belong into"),
        ({"effort": {}}, ("effort",), "value", "effort must be text in quotes, got a table"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(document: dict[str, Any], path: tuple[str, ...], kind: str, text: str) -> None:
    values, (problem,) = values_in(document)
    assert values == {}
    assert (problem.path, problem.kind) == (path, kind)
    assert text in problem.text


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "a boolean"),
        (7, "a whole number"),
        (0.5, "a number"),
        (["m"], "a list"),
        ({"x": 1}, "a table"),
        (dt.date(2026, 1, 2), "a date or a time"),
        (dt.time(1, 2), "a date or a time"),
    ],
)
def test_a_value_that_is_no_text_is_told_by_its_type_and_not_shown(value: object, kind: str) -> None:
    assert value_problem("effort", value) == f"effort must be text in quotes, got {kind}"
    hint = "; [model.defaults] and [model.fallbacks] belong into routing.toml" if kind == "a table" else ""
    assert value_problem("model", value) == f"model must be text in quotes, got {kind}{hint}"


def test_everything_that_is_wrong_is_found_in_its_order_beside_what_is_right() -> None:
    values, problems = values_in({"model": 1, "effort": "low", "jounal": "x"})
    assert values == {"effort": "low"}
    assert [problem.path for problem in problems] == [("model",), ("jounal",)]
