"""TOML files: what they say, where they say it, and what is told of a broken one."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.toml_files import TomlFile, read_toml
from geode.domain.errors import Misuse

TEXT = '''\
# The model of this project
model = "gpt-5.2"

journal = """
not the start
[of.a.table]
model = 1
"""   # a comment
many = [
  1,  # one

  2,
]
  indented = true

[sources]
# a comment
openai = "oauth"
dotted.deep = "x"
inline = { a = 1, b = { c = 2 } }

[[server]]
name = "one"
[[server]]
name = "two"
'''
# By hand: line and column of each.
PLACES: Mapping[tuple[str | int, ...], tuple[int, int]] = {
    ("model",): (2, 1),
    ("journal",): (4, 1),
    ("many",): (9, 1),
    ("many", 1): (9, 1),
    ("indented",): (14, 3),
    ("sources",): (16, 1),
    ("sources", "openai"): (18, 1),
    ("sources", "dotted"): (19, 1),
    ("sources", "dotted", "deep"): (19, 1),
    ("sources", "inline", "b", "c"): (20, 1),
    ("server",): (22, 1),
    ("server", 0, "name"): (23, 1),
    ("server", 1): (24, 1),
    ("server", 1, "name"): (25, 1),
}


def read(path: Path, text: str | bytes) -> TomlFile:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_toml(path)


def refused(path: Path, text: str | bytes) -> str:
    with pytest.raises(Misuse) as caught:
        read(path, text)
    assert caught.value.id == "config-file"
    return str(caught.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_a_missing_file_is_empty(path: Path) -> None:
    assert read_toml(path) == TomlFile(path)
    path.symlink_to(path.with_name("nowhere.toml"))
    assert read_toml(path) == TomlFile(path)


# ---- places ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("keys", PLACES)
def test_the_place_of_what_is_said(path: Path, keys: tuple[str | int, ...], end: str) -> None:
    file = read(path, TEXT.replace("\n", end))
    line, column = PLACES[keys]
    assert file.place_of(keys) == (line, column)
    assert file.where(keys) == f"{path}:{line}:{column}"


def _paths(values: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    children: list[tuple[str | int, object]] = []
    if isinstance(values, dict):
        children = list(values.items())
    elif isinstance(values, list):
        children = list(enumerate(values))
    for key, value in children:
        yield (*above, key)
        yield from _paths(value, (*above, key))


def _holds(values: Any, keys: tuple[str | int, ...]) -> bool:
    return keys in set(_paths(values))


def test_every_place_is_the_first_from_which_it_is_said(path: Path) -> None:
    """Against the definition, read line by line: nothing says it before the statement, and the file up to its end does."""
    file, lines = read(path, TEXT), TEXT.split("\n")
    paths = set(_paths(file.values))
    assert len(paths) > len(PLACES)
    for keys in paths:
        line, _ = file.place_of(keys)
        assert not _holds(tomllib.loads("\n".join(lines[: line - 1])), keys)
        ends = [count for count in range(line, len(lines) + 1) if _parses(lines[:count])]
        assert _holds(tomllib.loads("\n".join(lines[: ends[0]])), keys)


def _parses(lines: Sequence[str]) -> bool:
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


@pytest.mark.parametrize("keys", [("nothing",), ("model", "x"), ("server", 2), ("server", -1), ("many", "1"), ("sources", 0)])
def test_what_is_not_said_has_no_place(path: Path, keys: tuple[str | int, ...]) -> None:
    with pytest.raises(LookupError):
        read(path, TEXT).place_of(keys)


# ---- broken files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("model", 1, 6),
        ("model = \n", 1, 9),
        ('# one\n\nmodel = "a\n', 3, 11),
        ("model = gpt-5\n", 1, 9),
        ('model = "a"\r\n\r\neffort == 1\r\n', 3, 9),
        ('model = "a"\nmodel = "b"\n', 2, 12),
        ("[sources\n", 1, 9),
        ('a = """\n\n', 3, 1),
    ],
)
def test_a_broken_file_is_told_with_line_and_column(path: Path, text: str, line: int, column: int) -> None:
    assert refused(path, text).startswith(f"{path}:{line}:{column}: this is no TOML: ")


def test_what_python_cannot_read_is_told_with_its_line_too(path: Path) -> None:
    assert refused(path, f"model = 'a'\n\nbig = {'1' * 5000}\n").startswith(f"{path}:3:1: this cannot be read: ")
    deep = "[" * 100_000
    assert refused(path, f"model = 'a'\ndeep = {deep}\n").startswith(f"{path}:2:1: this cannot be read: ")


def test_what_is_not_utf8_is_told_with_its_place(path: Path) -> None:
    assert refused(path, b"a = 1\nb = 'caf\xe9'\n").startswith(f"{path}:2:9: this is not UTF-8")


def test_a_mark_in_front_of_the_text_is_none_of_it(path: Path) -> None:
    file = read(path, b"\xef\xbb\xbfmodel = 'a'\n")
    assert file.values == {"model": "a"}
    assert file.place_of(("model",)) == (1, 1)


def test_no_value_is_shown(path: Path) -> None:
    assert "sk-secret" not in refused(path, 'key = "sk-secret\n')
    assert "sk-secret" not in repr(read(path, 'key = "sk-secret"\n'))


def test_a_folder_or_a_pipe_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(Misuse, match=r"config\.toml is no file: .*\[config-file\]"):
        read_toml(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(Misuse, match=r"config\.toml is no file"):
        read_toml(path)


def test_what_cannot_be_read_is_refused(path: Path) -> None:
    path.write_text("x = 1")
    with pytest.raises(Misuse, match=r"x\.toml cannot be read: Not a directory \[config-file\]"):
        read_toml(path / "x.toml")
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(Misuse, match=r"config\.toml cannot be read: Too many levels of symbolic links"):
        read_toml(path)
