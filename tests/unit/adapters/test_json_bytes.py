"""JSON from the network: what is read, what is refused."""

from __future__ import annotations

import json

import pytest

from geode.adapters.http_json.json_bytes import read_json, read_object
from geode.adapters.http_json.reading import amount, mapping, number, objects, string


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        (b'\xef\xbb\xbf{"bom": 1}', {"bom": 1}),
        (b'{"half": "\\ud83d"}', {"half": "\ud83d"}),
        (b'{"pair": "\\ud83d\\ude42"}', {"pair": "🙂"}),
        (b'{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
        ('{"ü": "\u2028"}'.encode(), {"ü": "\u2028"}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b" [] ", []),
    ],
)
def test_what_servers_send_is_read(data: bytes, value: object) -> None:
    assert read_json(data) == value


def test_nesting_is_read_as_deep_as_the_machine_can() -> None:
    depth = 300
    assert read_json(b"[" * depth + b"]" * depth) == json.loads("[" * depth + "]" * depth)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"<html>",
        b"\xff\xfe",
        b'{"a": 1} x',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": [-Infinity]}',
        b'{"half": "\\ud83d", "b": NaN}',
        b"[" * 100_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(data)
    assert read_object(data) is None


@pytest.mark.parametrize("data", [b"[]", b"null", b"5", b'"text"'])
def test_an_object_is_wanted(data: bytes) -> None:
    assert read_object(data) is None


def test_fields_of_a_wrong_type_count_as_absent() -> None:
    assert (mapping([1]), objects({"a": 1}), objects([1, {"b": 2}, None])) == ({}, [], [{"b": 2}])
    assert (string(None), string(5), string("x")) == ("", "", "x")
    assert [number(value) for value in (5, -1, True, 2.0, "3", None)] == [5, 0, 0, 0, 0, 0]
    assert (amount(True), amount("1"), amount(None)) == (None, None, None)
    # Whole numbers are the same everywhere up to 2**53 (RFC 8259, section 6); nothing costs or counts more.
    assert (number(2**53 - 1), number(2**53), number(10**400)) == (2**53 - 1, 0, 0)
    assert (amount(float("inf")), amount(float("nan")), amount(10**5000), amount(1e308)) == (None, None, None, None)
    assert str(amount(0.0145476)) == "0.0145476"
