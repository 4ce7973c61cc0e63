"""JSON files that people write: where they say something, and what is told of a broken one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geode.adapters.json_files import read_json
from geode.domain.errors import Misuse

TEXT = """
{ "servers" : {
    "a": {"command": "x", "args": ["1",
        "2"]},
    "b\\u00e9" :
      {"url": "u"}
  },
  "rest": [] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.json"


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((), 2),
        (("servers",), 2),
        (("servers", "a"), 3),
        (("servers", "a", "args", 1), 4),
        (("servers", "bé"), 6),
        (("servers", "bé", "url"), 6),
        (("servers", "nobody"), 2),
        (("servers", "a", "args", 7), 3),
        (("rest", 0), 8),
    ],
)
def test_a_place_is_the_line_of_the_value_or_of_what_is_around_it(file: Path, keys: tuple[str | int, ...], line: int) -> None:
    file.write_text(TEXT, "utf-8")
    assert read_json(file).where(keys) == f"{file}:{line}"


def test_the_places_of_a_list(file: Path) -> None:
    file.write_text('[\n {"a": [1, {"b": 2}]}, 7,\n\n "x", {}\n]')
    read = read_json(file)
    assert read.value == [{"a": [1, {"b": 2}]}, 7, "x", {}]
    assert read.places() == {0: f"{file}:2", 1: f"{file}:2", 2: f"{file}:4", 3: f"{file}:4"}


@pytest.mark.parametrize("text", ["[]", "{}", "7", '"text"', " [ ] ", "{\n}"])
def test_what_has_no_members_has_no_places(file: Path, text: str) -> None:
    file.write_text(text)
    assert read_json(file).places() == {}


def test_a_mark_of_an_editor_in_front_is_no_part_of_it(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf[1]")
    read = read_json(file)
    assert (read.value, read.places()) == ([1], {0: f"{file}:1"})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[1,\n 2,]", ":2: this is no JSON: "),
        (b"", ":1: this is no JSON: Expecting value (column 1)"),
        (b'[\n"\xff"]', ":2: this is not UTF-8, as JSON is: save it as UTF-8"),
        (b"\xff\xfe[\x001\x00]\x00", ":1: this is not UTF-8"),
        (b'{"a": 1,\n "b": {"c": 1,\n "c": 2}}', ':3: "c" is there twice in one object; take one of them out'),
        (b'{"a": 1, "b": [{"a": 1}],\n "a": 2}', ':2: "a" is there twice in one object'),
        (b"[NaN]", ": this is no JSON: NaN is no number that JSON has"),
        (b"[" * 100_000, ": this is no JSON: it is nested too deep"),
    ],
)
def test_a_broken_file_is_told_with_its_line(file: Path, data: bytes, said: str) -> None:
    file.write_bytes(data)
    with pytest.raises(Misuse) as caught:
        read_json(file)
    assert caught.value.id == "json-file"
    assert f"{file}{said}" in str(caught.value)


def test_what_is_no_file_is_told_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("pipe", "is no file"), (".", "is no file"), ("missing", "cannot be read: No such file or directory")):
        with pytest.raises(Misuse, match=said):
            read_json(tmp_path / name)
