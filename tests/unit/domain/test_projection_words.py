"""What becomes of each word that is malformed, or written as older drafts have it, for every server alike."""

from __future__ import annotations

from typing import Any, Final

import pytest

from geode.domain.projection import projected
from geode.domain.schema_profile import ANTHROPIC, OPENAI

T: Final = {"type": "string"}


def of(properties: Any, **words: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **words}


INSIDE: Final[list[tuple[Any, Any]]] = [
    ({"enum": ["a"]}, {"enum": ["a"]}),
    ({"enum": []}, {}),
    ({"enum": "a"}, {}),
    ({"title": "t", "description": "d"}, {"title": "t", "description": "d"}),
    ({"title": 7, "description": None, "$comment": [], "format": {}}, {}),
    ({"$ref": 7}, {}),
    ({"minimum": 0, "maxLength": 1.5}, {"minimum": 0, "maxLength": 1.5}),
    ({"minimum": "0", "maxLength": None, "minItems": True}, {}),
    ({"pattern": "^a$"}, {"pattern": "^a$"}),
    ({"pattern": 7}, {}),
    ({"type": "string"}, {"type": "string"}),
    ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    ({"type": ["string", "string", 7, "any"]}, {"type": ["string"]}),
    ({"type": ["any"]}, {}),
    ({"type": []}, {}),
    ({"type": 7}, {}),
    ({"anyOf": [True, T, False, 7]}, {"anyOf": [{}, T, {"not": {}}, {}]}),
    ({"anyOf": []}, {}),
    ({"anyOf": T}, {}),
    ({"not": True}, {"not": {}}),
    ({"not": False}, {"not": {"not": {}}}),
    ({"not": 7, "if": [], "contains": "a"}, {}),
    ({"additionalProperties": False}, {"additionalProperties": False}),
    ({"additionalProperties": "a"}, {}),
    # A name has to be that of a property, where nothing else can have named it.
    (of({"a": T}, required=["a", "ghost", "a", 7]), of({"a": T}, required=["a"])),
    (of({"a": T}, required=["x1"], patternProperties={"^x": T}), of({"a": T}, required=["x1"], patternProperties={"^x": T})),
    (of({"a": T}, required=["b"], allOf=[of({"b": T})]), of({"a": T}, required=["b"], allOf=[of({"b": T})])),
    ({"required": ["b"]}, {"required": ["b"]}),
    # A word that nobody knows is nobody's to mend.
    (
        {"x-own": [None], "const": None, "default": 7, "examples": "a"},
        {"x-own": [None], "const": None, "default": 7, "examples": "a"},
    ),
]


@pytest.mark.parametrize(("given", "sent"), INSIDE, ids=range(len(INSIDE)))
def test_a_word_inside(given: Any, sent: Any) -> None:
    for profile in (OPENAI, ANTHROPIC):
        schema = of({"a": given, "o": T})
        assert projected(schema, profile) == of({"a": sent, "o": T})
        assert (projected(schema, profile) is schema) is (given == sent)


def test_the_root_requires_only_what_it_has() -> None:
    """Of what may have any name, none can be asked for by a server that looks it up among the properties."""
    for profile in (OPENAI, ANTHROPIC):
        named = of({"a": T}, required=["a", "x1"], patternProperties={"^x": T})
        assert projected(named, profile) == {**named, "required": ["a"]}
    unnamed = {"type": "object", "required": ["a"]}
    assert projected(unnamed, ANTHROPIC) is unnamed


def test_rules_about_keys_that_were_renamed_are_told_in_words() -> None:
    schema = of({"$top": T}, **{"not": {"required": ["$top"]}})
    said = 'The arguments must also fit {"not":{"required":["$top"]}}'
    assert projected(schema, ANTHROPIC) == of({"_top_81bf98e409": T}, description=said)
