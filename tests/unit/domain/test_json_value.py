"""What may enter as JSON, and how it is written."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from types import MappingProxyType
from typing import Any

import pytest

from geode.domain.json_value import (
    MAX_DEPTH,
    canonical_json,
    clean_json,
    clean_text,
    dump_bytes,
    dump_json,
    exact_json,
    pointer_part,
    same_json,
)

TEXTS = [
    ("", ""),
    ("plain", "plain"),
    ("é漢🙂", "é漢🙂"),
    ("\ufeffmark", "\ufeffmark"),
    ("abc\ud800def", "abc\ufffddef"),
    ("abc\ud800", "abc\ufffd"),
    ("\udfff\ud800", "\ufffd\ufffd"),
    ("\udcffx", "\ufffdx"),
    # two halves of one character, left apart by some decoder
    ("\ud83d\ude42", "🙂"),
    ("é\ud83d\ude42\ud83d", "é🙂\ufffd"),
]


@pytest.mark.parametrize(("text", "clean"), TEXTS, ids=range(len(TEXTS)))
def test_lone_surrogates_are_replaced(text: str, clean: str) -> None:
    assert clean_text(text) == clean
    assert clean_json([text, {text: text}]) == [clean, {clean: clean}]


@pytest.mark.parametrize("value", [None, True, False, 0, -1, 2**70, 1.5, "x", [], {}, {"a": [1, {"b": None}]}], ids=repr)
def test_plain_json_passes(value: Any) -> None:
    cleaned = clean_json(value)
    assert cleaned == value
    assert type(cleaned) is type(value)


def test_mappings_and_tuples_become_plain() -> None:
    given = MappingProxyType({"a": (1, MappingProxyType({"b": ()}))})
    assert json.dumps(clean_json(given)) == '{"a": [1, {"b": []}]}'


def test_the_outcome_is_a_copy() -> None:
    inner: list[int] = [1]
    cleaned = clean_json({"a": inner})
    inner.append(2)
    assert cleaned == {"a": [1]}


REFUSED: list[tuple[Any, str]] = [
    (math.nan, "/ is nan, which JSON cannot carry"),
    ([math.inf], "/0 is inf, which JSON cannot carry"),
    ({"a": [0, {"b": -math.inf}]}, "/a/1/b is -inf, which JSON cannot carry"),
    ({"a/b": {"~": math.nan}}, "/a~1b/~0 is nan, which JSON cannot carry"),
    ({1: 2}, "/ has the key 1; keys must be strings"),
    ({"a": {None: 2}}, "/a has the key None; keys must be strings"),
    (b"x", "/ is of type bytes, which JSON cannot carry"),
    ({"a": [date(2020, 1, 1)]}, "/a/0 is of type date, which JSON cannot carry"),
    ({"a": {1, 2}}, "/a is of type set, which JSON cannot carry"),
]


@pytest.mark.parametrize(("value", "why"), REFUSED, ids=repr)
def test_what_is_refused_names_its_place(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        clean_json(value)


@pytest.mark.parametrize(("letters", "shown"), [(79, "/" + "k" * 79), (80, "/" + "k" * 79 + "…")])
def test_a_place_is_shown_up_to_a_length(letters: int, shown: str) -> None:
    with pytest.raises(ValueError, match=f"^{shown} is nan"):
        clean_json({"k" * letters: math.nan})


def test_an_integer_is_as_long_as_python_writes_one() -> None:
    assert clean_json(-(2**13_999)) == -(2**13_999)
    with pytest.raises(ValueError, match=r"^/0 is an integer of more than 14000 bits$"):
        clean_json([2**14_000])


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_hundred_levels_are_enough() -> None:
    assert MAX_DEPTH == 100
    assert clean_json(nested(100)) == nested(100)
    with pytest.raises(ValueError, match=r"^(/0){40}… is nested deeper than 100 levels$"):
        clean_json(nested(101))
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        clean_json({"a": nested(100)})
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        clean_json(nested(100_000))


def test_objects_are_levels_like_lists() -> None:
    value: Any = 1
    for _ in range(100):
        value = {"a": value}
    assert clean_json(value) == value
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        clean_json({"a": value})


@pytest.mark.parametrize(("key", "part"), [("a", "a"), ("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01"), ("", "")])
def test_steps_of_a_pointer(key: str, part: str) -> None:
    assert pointer_part(key) == part


def test_written_compactly_and_unescaped() -> None:
    value = {"b": "é🙂", "a": [1, 2.5, None, True]}
    assert dump_json(value) == '{"b":"é🙂","a":[1,2.5,null,true]}'
    assert dump_bytes(value) == '{"b":"é🙂","a":[1,2.5,null,true]}'.encode()


def test_what_is_no_number_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json(math.nan)
    with pytest.raises(ValueError, match="not JSON compliant"):
        exact_json({"a": ["\ud800", math.inf]})


def test_what_must_go_back_as_it_came_keeps_lone_surrogates_as_escapes() -> None:
    assert exact_json({"a": "plain"}) == '{"a":"plain"}'
    assert exact_json({"a": "é"}) == '{"a":"é"}'
    assert exact_json({"a": "é\ud800", "b": 1}) == '{"a":"\\u00e9\\ud800","b":1}'
    assert json.loads(exact_json({"a": "é\ud800"})) == {"a": "é\ud800"}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        # Spec section 6: equal JSON values, key order ignored, 1 equals 1.0.
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 2}, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ([1, 2], [1], False),
        ({}, [], False),
        ([], {}, False),
        ({"a": 1}, ["a"], False),
        (["a"], {"a": 1}, False),
        ("a", ["a"], False),
        (["a"], "a", False),
        ({"a": 1}, "a", False),
        (1, True, False),
        (0, False, False),
        (False, 0, False),
        (True, True, True),
        ([True], [1], False),
        ("1", 1, False),
        (None, False, False),
        (None, None, True),
        ("é", "é", True),
    ],
)
def test_equal_json(one: Any, other: Any, equal: bool) -> None:
    assert same_json(one, other) is equal
    assert (canonical_json(one) == canonical_json(other)) is equal


def test_the_one_text_of_equal_values() -> None:
    assert canonical_json({"b": [1.0, (2.5, None)], "a": "é"}) == '{"a":"\\u00e9","b":[1,[2.5,null]]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json([math.nan])
