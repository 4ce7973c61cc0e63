"""Names of tools and of their properties on the wire and back, and whose null a null is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import pytest

from geode.domain.content import Text, ToolUseBlock
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.schema_profile import ANTHROPIC, GLM, OPENAI
from geode.domain.sent_tools import keys_sent, names_back, restored, tools_problem, with_keys
from geode.domain.tools import ToolSpec
from geode.domain.usage import Usage
from tests.unit.domain.builders import assistant, user

T: Final = {"type": "string"}


def made(name: str, base: str) -> str:
    """The name that is made of one that does not fit: ten digits of its SHA-256 after what is left of it."""
    return f"{base}_{hashlib.sha256(name.encode()).hexdigest()[:10]}"


A_B: Final = made("a b", "a_b")
OFFICE: Final = ToolSpec("office.save", "", {"type": "object", "properties": {"a b": T, "c": T, "d.e": T}})
PLAIN: Final = ToolSpec("plain", "", {"type": "object", "properties": {"c": T}})


def reply(*items: Text | ToolUseBlock) -> AdapterCallResult:
    return AdapterCallResult(items, Stop.TOOL_CALLS, Usage())


# ---- names -------------------------------------------------------------------------------------


def test_the_names_that_differ_on_the_wire() -> None:
    assert names_back((OFFICE, PLAIN)) == {made("office.save", "office_save"): "office.save"}


def test_the_keys_that_differ_where_keys_have_an_alphabet() -> None:
    assert keys_sent((OFFICE, PLAIN), ANTHROPIC) == {"office.save": {"a b": A_B}}
    assert keys_sent((OFFICE, PLAIN), OPENAI) == {}


def test_what_was_worked_out_of_a_tool_is_kept_by_the_profile() -> None:
    tool = ToolSpec("t", "", {"type": "object", "properties": {"a b": T}})
    keys_sent((tool,), ANTHROPIC)
    assert tool.memo["keys anthropic"] == {"a b": A_B}


def test_calls_of_a_turn_go_out_under_the_keys_that_were_sent() -> None:
    keys = {"office.save": {"a b": A_B}}
    renamed = ToolUseBlock("1", "office.save", {"a b": 1, "c": 2, "x": None})
    other = ToolUseBlock("2", "plain", {"a b": 1})
    turn = assistant("text", renamed, other)
    assert with_keys(turn, keys) == assistant("text", ToolUseBlock("1", "office.save", {A_B: 1, "c": 2, "x": None}), other)
    for same in (user(), assistant("text"), assistant(other)):
        assert with_keys(same, keys) is same


def test_a_call_comes_back_under_the_names_of_its_tool() -> None:
    called = ToolUseBlock("1", made("office.save", "office_save"), {A_B: 1, "c": 2, "x": None})
    got = restored(reply(Text("a"), called), (OFFICE, PLAIN), ANTHROPIC)
    assert got.items == (Text("a"), ToolUseBlock("1", "office.save", {"a b": 1, "c": 2, "x": None}))
    # The keys of a server without an alphabet are its own.
    assert restored(reply(called), (OFFICE,), OPENAI).items == (ToolUseBlock("1", "office.save", {A_B: 1, "c": 2, "x": None}),)


def test_a_name_that_fits_keeps_its_tool_though_a_key_was_renamed() -> None:
    tool = ToolSpec("save", "", {"type": "object", "properties": {"a b": T}})
    got = restored(reply(ToolUseBlock("1", "save", {A_B: 1})), (tool,), ANTHROPIC)
    assert got.items == (ToolUseBlock("1", "save", {"a b": 1}),)


def test_a_reply_without_anything_renamed_is_the_very_same() -> None:
    for said in (reply(Text("a")), reply(ToolUseBlock("1", "plain", {"c": 1})), reply(ToolUseBlock("1", "nobody", {"a b": 1}))):
        assert restored(said, (OFFICE, PLAIN), ANTHROPIC) is said


# ---- what is refused ---------------------------------------------------------------------------


def strict(schema: dict[str, Any], name: str = "t") -> ToolSpec:
    return ToolSpec(name, "", schema, strict=True)


def test_two_tools_that_would_go_out_under_one_name() -> None:
    sent = made("a.b", "a_b")
    said = tools_problem([ToolSpec("a.b", "", PLAIN.input_schema), ToolSpec(sent, "", PLAIN.input_schema)], OPENAI)
    assert said == f'the tools "a.b" and "{sent}" would go out under one name, {sent}. Rename one of them'


def test_what_is_right_for_one_server_may_be_wrong_for_another() -> None:
    tool = strict({"type": "object", "properties": {}})
    assert tools_problem([tool], OPENAI) is None
    assert tools_problem([tool], GLM) == "tool t: this server has no strict tools. Leave strict off for this tool"
    assert tools_problem([tool], OPENAI) is None


def test_a_strict_root_is_no_reference() -> None:
    schema = {"type": "object", "$ref": "#/$defs/D", "$defs": {"D": {"type": "object", "properties": {}}}}
    for profile in (OPENAI, ANTHROPIC):
        said = tools_problem([strict(schema)], profile)
        assert said is not None
        assert said.startswith("tool t: its schema cannot be strict here; /$ref: it is not permitted at the root. ")


def test_the_tool_that_adds_most_to_the_bounds_is_named() -> None:
    """Thirteen optional properties are less than twelve of which nine are unions too."""
    one = strict(obj({f"p{n}": T for n in range(13)}), "one")
    other = strict(obj({f"p{n}": {"type": ["string", "null"]} if n < 9 else T for n in range(12)}), "other")
    said = tools_problem([one, other], ANTHROPIC)
    way_out = "Leave strict off for some of them, such as other"
    assert said == f"25 optional properties in strict tools, this server takes 24. {way_out}"


# ---- nulls -------------------------------------------------------------------------------------


def obj(properties: Mapping[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required), **more}


OPTIONAL: Final = obj({"o": T})


def taken_back(schema: dict[str, Any], input: dict[str, Any]) -> Mapping[str, Any]:
    tool = ToolSpec("t", "", schema, strict=True)
    return restored(reply(ToolUseBlock("1", "t", input)), (tool,), OPENAI).calls[0].input


@pytest.mark.parametrize(
    ("schema", "given", "meant"),
    [
        # In lists, by reference, and in a list by reference.
        (obj({"l": {"type": "array", "items": OPTIONAL}}, "l"), {"l": [{"o": None}, {"o": "a"}]}, {"l": [{}, {"o": "a"}]}),
        (
            obj({"l": {"type": "array", "items": {"$ref": "#/$defs/D"}}}, "l", **{"$defs": {"D": OPTIONAL}}),
            {"l": [{"o": None}]},
            {"l": [{}]},
        ),
        # A union: the branch with just these properties.
        (
            obj({"u": {"anyOf": [obj({"o": T}), obj({"o": T, "k": T}, "k")]}}, "u"),
            {"u": {"o": None, "k": "x"}},
            {"u": {"k": "x"}},
        ),
        # A list is for the branch that holds some, and not for one that is an object.
        (
            obj({"u": {"anyOf": [T, OPTIONAL, {"type": "array", "items": OPTIONAL}]}}, "u"),
            {"u": [{"o": None}]},
            {"u": [{}]},
        ),
        # An enum tells branches apart, as a constant does; null stands for any optional property.
        (
            obj(
                {
                    "u": {
                        "anyOf": [
                            obj({"k": {"enum": ["a"]}, "o": {"type": ["string", "null"]}}, "k", "o"),
                            obj({"k": {"enum": ["b", "c"]}, "o": T}, "k"),
                        ]
                    }
                },
                "u",
            ),
            {"u": {"k": "c", "o": None}},
            {"u": {"k": "c"}},
        ),
        (
            obj({"u": {"anyOf": [obj({"k": {"enum": ["a"]}, "o": T}, "o"), obj({"k": T, "o": T}, "k")]}}, "u"),
            {"u": {"k": None, "o": "x"}},
            {"u": {"o": "x"}},
        ),
        # Text is for no branch that is an object.
        (obj({"u": {"anyOf": [obj({}), T]}}, "u"), {"u": "text"}, {"u": "text"}),
    ],
)
def test_a_null_that_stands_for_nothing_is_taken_out(
    schema: dict[str, Any], given: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert taken_back(schema, given) == meant


def test_lists_and_objects_without_such_a_null_stay_the_very_same() -> None:
    schema = obj({"l": {"type": "array", "items": OPTIONAL}, "d": OPTIONAL}, "l", "d")
    given = {"l": [{"o": "a"}], "d": {"o": "a"}, "free": None}
    assert taken_back(schema, given) is given
    mixed: dict[str, Any] = {"l": [{"o": "a"}], "d": {"o": None}}
    got = taken_back(schema, mixed)
    assert got == {"l": [{"o": "a"}], "d": {}}
    assert got["l"] is mixed["l"]


@pytest.mark.parametrize("where", ["value", "branch"])
def test_a_reference_that_leads_back_to_itself_ends(where: str) -> None:
    loop = {"$ref": "#/$defs/A"}
    definitions = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    schema = obj({"x": loop if where == "value" else {"anyOf": [loop, OPTIONAL]}}, "x", **{"$defs": definitions})
    given = {"x": {"o": None}}
    assert taken_back(schema, given) == ({"x": {"o": None}} if where == "value" else {"x": {}})
