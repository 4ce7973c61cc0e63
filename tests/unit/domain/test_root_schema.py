"""The root of a schema as one object: what its reference and its unions say, as far as one object can say it."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from geode.domain.root_schema import anchored, merged_root, told
from geode.domain.schema_words import Schema

UNIONS: Final = frozenset(("oneOf", "anyOf", "allOf"))
S: Final = {"type": "string"}
I: Final = {"type": "integer"}  # noqa: E741 - it stands in tables


def of(properties: Any, **words: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **words}


def text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def must(rules: str) -> str:
    return f"The arguments must also fit {rules}"


# ---- words in the description ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"not": S}, {"description": must('{"not":{"type":"string"}}')}),
        ({"description": "Finds.", "not": {}}, {"description": "Finds.\n\n" + must('{"not":{}}')}),
        ({"description": "", "not": {}}, {"description": must('{"not":{}}')}),
        ({"description": 7, "not": {}}, {"description": must('{"not":{}}')}),
        ({"enum": [1], "title": "t", "not": {}}, {"title": "t", "description": must('{"enum":[1],"not":{}}')}),
    ],
)
def test_rules_as_text(before: Schema, after: Schema) -> None:
    assert told(before, ["not", "enum", "if"]) == after


def test_nothing_to_tell() -> None:
    schema = of({"a": S})
    assert told(schema, ["not"]) is schema
    assert told(schema, []) is schema


# ---- references to the root --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "moved"),
    [
        ("#", "#/$defs/arguments"),
        ("#/properties/a", "#/$defs/arguments/properties/a"),
        ("#/$defs/D", None),
        ("#/definitions/D", None),
        ("other.json", None),
        ("#anchor", None),
        (7, None),
    ],
)
def test_a_reference_to_the_root_or_into_it_leads_to_a_copy(reference: object, moved: str | None) -> None:
    schema = of({"a": {"items": {"$ref": reference}}}, title="t", **{"$defs": {"D": S}, "definitions": {"D": S}})
    if moved is None:
        assert anchored(schema) is schema
        return
    copy = of({"a": {"items": {"$ref": moved}}}, title="t")
    assert anchored(schema) == {**copy, "$defs": {"D": S, "arguments": copy}, "definitions": {"D": S}}


def test_the_copy_takes_no_name_that_is_taken() -> None:
    schema = of({"a": {"$ref": "#"}}, **{"$defs": {"arguments": S, "arguments_": I}})
    copy = of({"a": {"$ref": "#/$defs/arguments__"}})
    assert anchored(schema) == {**copy, "$defs": {"arguments": S, "arguments_": I, "arguments__": copy}}


def test_references_among_definitions_move_with_them() -> None:
    schema = of({}, **{"$defs": {"D": of({"up": {"$ref": "#"}, "side": {"$ref": "#/$defs/E"}}), "E": S}})
    inner = of({"up": {"$ref": "#/$defs/arguments"}, "side": {"$ref": "#/$defs/E"}})
    assert anchored(schema) == of({}, **{"$defs": {"D": inner, "E": S, "arguments": of({})}})


# ---- a root that is a reference ----------------------------------------------------------------


def refer(**words: Any) -> dict[str, Any]:
    return {"$ref": "#/$defs/D", **words}


@pytest.mark.parametrize(
    ("root", "target", "merged"),
    [
        (refer(), of({"a": S}, required=["a"]), of({"a": S}, required=["a"])),
        # What stands nearer wins; properties and what is required are joined.
        (
            refer(title="near", properties={"a": I, "b": S}, required=["b"]),
            of({"a": S, "c": S}, title="far", required=["c", "b"]),
            of({"a": I, "b": S, "c": S}, title="near", required=["c", "b"]),
        ),
        (refer(properties={"b": S}), {"title": "far"}, {"properties": {"b": S}, "title": "far"}),
        (refer(required=["b"]), of({"b": S}), of({"b": S}, required=["b"])),
        # Definitions of a definition are nobody's.
        (refer(), of({}, **{"$defs": {"X": S}, "definitions": {}}), of({})),
        # What is no object, is not there, or leads back, says nothing.
        (refer(title="near"), S, {"title": "near"}),
        (refer(title="near"), {"type": ["null", "object"], "x-a": 1}, {"title": "near", "type": ["null", "object"], "x-a": 1}),
        (refer(title="near"), True, {"title": "near"}),
        (refer(title="near"), refer(title="far"), {"title": "near"}),
    ],
)
def test_a_root_that_is_a_reference_is_what_that_leads_to(root: Any, target: Any, merged: Any) -> None:
    definitions = {"$defs": {"D": target}}
    assert merged_root({**root, **definitions}, frozenset()) == {**merged, **definitions}


def chain(length: int) -> dict[str, Any]:
    """Definitions each of which leads to the next, and the last of which has a property."""
    links: dict[str, Any] = {f"C{n}": {"$ref": f"#/$defs/C{n + 1}"} for n in range(length - 1)}
    return {**links, f"C{length - 1}": of({"a": S})}


@pytest.mark.parametrize(("length", "followed"), [(1, True), (32, True), (33, False)])
def test_references_are_followed_so_many_steps(length: int, followed: bool) -> None:
    definitions = {"$defs": chain(length)}
    assert ("properties" in merged_root({"$ref": "#/$defs/C0", **definitions}, frozenset())) is followed
    branched = merged_root({"type": "object", "anyOf": [{"$ref": "#/$defs/C0"}], **definitions}, UNIONS)
    assert branched["properties"] == ({"a": S} if followed else {})


# ---- unions at the root ------------------------------------------------------------------------


def test_a_root_without_refused_words_is_the_very_same() -> None:
    schema = of({"a": S}, anyOf=[of({"b": S})], **{"not": {}})
    assert merged_root(schema, frozenset(("oneOf", "allOf"))) is schema


A_S, A_I, B_S = of({"a": S}), of({"a": I}), of({"b": S})
BOTH = of({"a": S, "b": S}, required=["a", "b"])
OTHER = of({"b": I, "a": S}, required=["b"])
UNION_ROOTS: Final[list[tuple[Schema, Schema]]] = [
    # Branches of `allOf` that say no more than properties are merged without a word.
    (
        of({"a": S}, allOf=[of({"b": S}, required=["b"], title="t", description="d"), {"properties": {"c": I}}]),
        of({"a": S, "b": S, "c": I}, required=["b"]),
    ),
    # A list of what is required stays one, though empty.
    (of({"a": S}, required=[], allOf=[{}]), of({"a": S}, required=[])),
    (of({"a": S}, allOf=[{}]), of({"a": S})),
    # What they require is required once, the root's own first.
    (
        of({"a": S}, required=["a"], allOf=[of({"b": S}, required=["b", "a"])]),
        of({"a": S, "b": S}, required=["a", "b"]),
    ),
    # The first that says anything of a property is told, and the rest in words.
    (of({"a": {}}, allOf=[A_S, A_I]), of({"a": S}, description=must(f'{{"allOf":[{text(A_S)},{text(A_I)}]}}'))),
    (of({"a": S}, allOf=[{"minItems": 1}]), of({"a": S}, description=must('{"allOf":[{"minItems":1}]}'))),
    # Of alternatives: all properties, and what all of them require.
    (
        {"type": "object", "anyOf": [BOTH, OTHER]},
        of(
            {"a": S, "b": {"anyOf": [S, I]}},
            required=["b"],
            description=must(f'{{"anyOf":[{text(BOTH)},{text(OTHER)}]}}'),
        ),
    ),
    # An alternative that is no object is none for arguments.
    (
        {"type": "object", "oneOf": [S, A_S, {"properties": {"b": S}}]},
        of({"a": S, "b": S}, description=must(f'{{"oneOf":[{text(S)},{text(A_S)},{{"properties":{text({"b": S})}}}]}}')),
    ),
    # Equal ones are one, though they stand in two places.
    (
        {"type": "object", "anyOf": [B_S, of({"b": dict(S)})]},
        of({"b": S}, description=must(f'{{"anyOf":[{text(B_S)},{text(B_S)}]}}')),
    ),
    # Unions in unions, and behind references that lead back.
    (
        {"type": "object", "allOf": [{"anyOf": [A_S, {"allOf": [B_S]}]}]},
        of({"a": S, "b": S}, description=must(f'{{"allOf":[{{"anyOf":[{text(A_S)},{{"allOf":[{text(B_S)}]}}]}}]}}')),
    ),
    (
        {
            "type": "object",
            "anyOf": [{"$ref": "#/$defs/D"}, {"$ref": "#/$defs/Gone"}],
            "$defs": {"D": {**A_S, "$ref": "#/$defs/D"}},
        },
        of(
            {"a": S},
            description=must('{"anyOf":[{"$ref":"#/$defs/D"},{"$ref":"#/$defs/Gone"}]}'),
            **{"$defs": {"D": {**A_S, "$ref": "#/$defs/D"}}},
        ),
    ),
]


@pytest.mark.parametrize(("root", "merged"), UNION_ROOTS, ids=range(len(UNION_ROOTS)))
def test_unions_become_one_object(root: Schema, merged: Schema) -> None:
    assert merged_root(root, UNIONS) == merged


def test_only_the_refused_words_go() -> None:
    root = of({"a": S}, allOf=[B_S], anyOf=[A_I])
    assert merged_root(root, frozenset(("allOf",))) == of({"a": S, "b": S}, anyOf=[A_I])


@pytest.mark.parametrize(("properties", "read"), [(9998, True), (9999, False)])
def test_so_much_is_read_of_branches(properties: int, read: bool) -> None:
    """10,000 steps: the root, the branch, and each of its properties."""
    branch = of({f"p{n}": S for n in range(properties)})
    merged = merged_root({"type": "object", "anyOf": [branch]}, UNIONS)
    assert len(merged["properties"]) == (properties if read else 0)
