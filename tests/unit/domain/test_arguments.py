"""Argument text to an object: empty, null, encoded twice, fenced, broken."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest

from geode.domain.arguments import UNPARSED_KEY, argument_error, parse_arguments, sent_input, sent_text, tool_use
from geode.domain.content import ToolUseBlock

PARSED: list[tuple[Any, dict[str, Any]]] = [
    # nothing at all
    (None, {}),
    ("", {}),
    ("   ", {}),
    ("\n", {}),
    ("null", {}),
    (" null ", {}),
    ({}, {}),
    ("{}", {}),
    # an object
    ('{"q":1}', {"q": 1}),
    (' {"q": 1}\n', {"q": 1}),
    ({"q": 2}, {"q": 2}),
    ({"q": (1, 2)}, {"q": [1, 2]}),
    # encoded twice
    ('"{\\"x\\":1}"', {"x": 1}),
    ('"{}"', {}),
    # in one code fence
    ('```json\n{"a":1}\n```', {"a": 1}),
    ('```\n{"a":1}\n```', {"a": 1}),
    ('\n```JSON \n{"a":1}```\n', {"a": 1}),
    ('```json\r\n{"a":1}\r\n```', {"a": 1}),
    ("```\nnull\n```", {}),
    ("```json\n```", {}),
    ('```json\n"{\\"x\\":1}"\n```', {"x": 1}),
    # a fence inside a string is text
    ('{"code":"```py\\nx\\n```"}', {"code": "```py\nx\n```"}),
    # control characters inside strings are accepted
    ('{"text": "line1\nline2\t"}', {"text": "line1\nline2\t"}),
    # non-ASCII stays; lone surrogates do not
    ('{"q":"é🙂"}', {"q": "é🙂"}),
    ('{"q":"\\ud83d\\ude42"}', {"q": "🙂"}),
    ('{"q":"\\ud800"}', {"q": "\ufffd"}),
    ({"\udc00": "\udc00"}, {"\ufffd": "\ufffd"}),
]


@pytest.mark.parametrize(("given", "parsed"), PARSED, ids=range(len(PARSED)))
def test_what_is_understood(given: Any, parsed: dict[str, Any]) -> None:
    assert parse_arguments(given).unwrap() == parsed


AGAIN = "; send the whole object again"
REFUSED: list[tuple[Any, str]] = [
    # never completed
    ('{"path": "a', "arguments are not valid JSON (line 1, column 10)"),
    ('{"q":', "arguments are not valid JSON (line 1, column 6)"),
    ('{"a":1}\n{"b":2}', "arguments are not valid JSON (line 2, column 1)"),
    ("x", "arguments are not valid JSON (line 1, column 1)"),
    ('```\n{"a":1}', "arguments are not valid JSON (line 1, column 1)"),
    ('see: ```\n{"a":1}\n```', "arguments are not valid JSON (line 1, column 1)"),
    ('```\n{"a":1}\n```\n```\n{"b":1}\n```', "arguments are not valid JSON (line 2, column 1)"),
    # JSON that is not an object
    ("[1,2]", "arguments must be a JSON object, got an array"),
    ([1, 2], "arguments must be a JSON object, got an array"),
    ((1, 2), "arguments must be a JSON object, got an array"),
    ("5", "arguments must be a JSON object, got a number"),
    (5, "arguments must be a JSON object, got a number"),
    ("1.5", "arguments must be a JSON object, got a number"),
    ('"x"', "arguments must be a JSON object, got a string"),
    ("true", "arguments must be a JSON object, got a boolean"),
    (False, "arguments must be a JSON object, got a boolean"),
    (b"{}", "arguments must be a JSON object, got bytes"),
    # encoded twice, but no object inside
    ('"[1]"', "arguments must be a JSON object, got a string"),
    ('"\\"{}\\""', "arguments must be a JSON object, got a string"),
    # numbers that JSON does not know
    ('{"q": NaN}', "arguments are not valid JSON (NaN is not JSON)"),
    ('{"q": -Infinity}', "arguments are not valid JSON (-Infinity is not JSON)"),
    ('{"q": 1e999}', "arguments cannot be read: /q is inf, which JSON cannot carry"),
    ({"q": float("nan")}, "arguments cannot be read: /q is nan, which JSON cannot carry"),
    ({"q": {1: 2}}, "arguments cannot be read: /q has the key 1; keys must be strings"),
    ({"q": Decimal(1)}, "arguments cannot be read: /q is of type Decimal, which JSON cannot carry"),
]


@pytest.mark.parametrize(("given", "why"), REFUSED, ids=range(len(REFUSED)))
def test_what_the_model_is_told(given: Any, why: str) -> None:
    assert parse_arguments(given).swap().unwrap() == why + AGAIN


def test_nesting_without_end_is_an_error_and_not_a_crash() -> None:
    deep = '{"a":' * 100_000
    assert parse_arguments(deep).swap().unwrap() == f"arguments are not valid JSON (nested too deeply){AGAIN}"
    twice = json.dumps("[" * 100_000)
    assert parse_arguments(twice).swap().unwrap() == f"arguments are not valid JSON (nested too deeply){AGAIN}"


def test_an_integer_without_end_is_an_error_and_not_a_crash() -> None:
    why = parse_arguments('{"q":' + "9" * 10_000 + "}").swap().unwrap()
    assert why.startswith("arguments are not valid JSON (")


@pytest.mark.parametrize("text", ["```" + "\n" * 20_000, "```" + " " * 20_000, "```\n" + "\n ```" * 5_000 + "x"])
def test_time_grows_with_the_length_alone(text: str) -> None:
    before = time.process_time()
    parse_arguments(text)
    assert time.process_time() - before < 0.5


def test_a_call_keeps_its_object_or_its_original_text() -> None:
    assert tool_use("1", "w", '{"q":1}') == ToolUseBlock("1", "w", {"q": 1}, None)
    assert tool_use("1", "w", None) == ToolUseBlock("1", "w", {}, None)
    assert tool_use("1", "w", '{"q":') == ToolUseBlock("1", "w", {}, '{"q":')
    assert tool_use("1", "w", [1, "é"]) == ToolUseBlock("1", "w", {}, '[1, "é"]')
    assert tool_use("1", "w", {"é": Decimal(1)}) == ToolUseBlock("1", "w", {}, '{"é": "1"}')


def test_nothing_that_cannot_be_sent_enters_with_a_call() -> None:
    assert tool_use("\ud800", "w\ud800", '{"q":\udfff') == ToolUseBlock("\ufffd", "w\ufffd", {}, '{"q":\ufffd')
    assert tool_use("\ud800", "w\ud800", {"q": "\ud800"}) == ToolUseBlock("\ufffd", "w\ufffd", {"q": "\ufffd"})


def test_arguments_nested_too_deeply_to_be_written_are_still_a_call() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for arguments, shown in (
        ({"a": deep}, "<dict that cannot be written as JSON>"),
        (deep, "<an array that cannot be written as JSON>"),
    ):
        made = tool_use("1", "w", arguments)
        assert made == ToolUseBlock("1", "w", {}, shown)
        assert argument_error(made) == f"arguments are not valid JSON (line 1, column 1){AGAIN}"


def test_why_a_call_has_no_object() -> None:
    assert argument_error(tool_use("1", "w", "{}")) is None
    assert argument_error(tool_use("1", "w", "[1]")) == f"arguments must be a JSON object, got an array{AGAIN}"
    assert argument_error(tool_use("1", "w", '{"a": "x')) == f"arguments are not valid JSON (line 1, column 7){AGAIN}"
    # Text that is fine now was not fine for whoever stored it.
    assert argument_error(ToolUseBlock("1", "w", {}, "{}")) == f"arguments must be a JSON object{AGAIN}"


def test_broken_arguments_go_out_as_an_object() -> None:
    assert UNPARSED_KEY == "unparsed_arguments"
    broken = tool_use("1", "w", '{"value": ')
    assert sent_input(broken) == {"unparsed_arguments": '{"value": '}
    assert json.loads(sent_text(broken)) == {"unparsed_arguments": '{"value": '}


def test_good_arguments_go_out_as_they_are() -> None:
    call = tool_use("1", "w", '{"b":"é","a":[1]}')
    assert sent_input(call) == {"b": "é", "a": [1]}
    assert sent_text(call) == '{"b":"é","a":[1]}'
