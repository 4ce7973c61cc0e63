"""Variables of the process and of `.env` files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geode.adapters.environment import EnvFile, Environment, read_env_file
from geode.domain.configuration import Candidate, Found
from geode.domain.errors import Misuse

TEXT = """\
# The keys of the lab
LAB_KEY=one

export QUOTED="two # three"
SINGLE='$HOME \\n'
INTERPOLATED=$LAB_KEY ${LAB_KEY}  # a comment
EMPTY=
BARE
MANY='first
second'


AFTER=last
LAB_KEY=again
"""


def read(tmp_path: Path, text: str | bytes) -> EnvFile:
    path = tmp_path / ".env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_env_file(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_values_stand_as_they_are_written_with_their_lines(tmp_path: Path, end: str) -> None:
    assert read(tmp_path, TEXT.replace("\n", end)).values == {
        "QUOTED": ("two # three", 4),
        "SINGLE": ("$HOME \\n", 5),
        "INTERPOLATED": ("$LAB_KEY ${LAB_KEY}", 6),
        "EMPTY": ("", 7),
        "MANY": ("first\nsecond", 9),
        "AFTER": ("last", 13),
        "LAB_KEY": ("again", 14),
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [("two words=1\n", 1), ("A=1\n\n\n=sk-secret\n", 4), ("A=1\n# b\nB='sk-secret\nC=2\n", 3), ("A='1' sk-secret\n", 1)],
)
def test_a_line_that_cannot_be_read_is_told_and_not_shown(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(Misuse) as caught:
        read(tmp_path, text)
    assert caught.value.id == "env-file"
    assert str(caught.value).startswith(f"{tmp_path / '.env'}:{line}: this line cannot be read: write NAME=value")
    assert "sk-secret" not in str(caught.value)


def test_what_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"\.env:2: this is not UTF-8"):
        read(tmp_path, b"A=1\nB=\xe9\n")


def test_a_mark_in_front_of_the_text_is_none_of_it(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfA=1\n").values == {"A": ("1", 1)}


def test_what_is_missing_or_no_file_is_empty(tmp_path: Path) -> None:
    """A folder `.env` is somebody's virtual environment; a pipe would be waited for."""
    path = tmp_path / ".env"
    assert read_env_file(path) == EnvFile(path)
    path.mkdir()
    assert read_env_file(path) == EnvFile(path)
    assert read_env_file(path / "x" / "y") == EnvFile(path / "x" / "y")
    path.rmdir()
    os.mkfifo(path)
    assert read_env_file(path) == EnvFile(path)
    assert read_env_file(Path("/dev/null/.env")) == EnvFile(Path("/dev/null/.env"))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.symlink_to(path)
    with pytest.raises(Misuse, match=r"\.env cannot be read: Too many levels of symbolic links \[env-file\]"):
        read_env_file(path)


def test_a_secret_is_not_in_the_repr(tmp_path: Path) -> None:
    assert "sk-secret" not in repr(read(tmp_path, "KEY=sk-secret\n"))


# ---- the order ---------------------------------------------------------------------------------


def env(near: dict[str, str] | None = None, far: dict[str, str] | None = None, **process: str) -> Environment:
    files = [
        EnvFile(Path(name), True, {name: (value, line) for line, (name, value) in enumerate(said.items(), 1)})
        for name, said in (("near/.env", near or {}), ("far/.env", far or {}))
    ]
    return Environment(files, process)


def test_the_process_comes_before_the_files_in_their_order() -> None:
    near, far = {"X": "near"}, {"Z": "z", "X": "far"}
    assert env(near, far, X="process").find("X") == Found("process", "the process environment")
    assert env(near, far).find("X") == Found("near", "near/.env:1")
    assert env({}, far).find("X") == Found("far", "far/.env:2")
    assert env({}, {}).find("X") is None


@pytest.mark.parametrize("nothing", ["", "  "])
def test_an_empty_variable_is_no_value_at_any_level(nothing: str) -> None:
    assert env({"X": nothing}, {"X": "far"}, X=nothing).find("X") == Found("far", "far/.env:1")
    assert env({"X": nothing}, {"X": nothing}, X=nothing).find("X") is None


def test_every_place_that_says_something_is_a_candidate() -> None:
    assert list(env({"X": "near"}, {"X": "far"}, X="").candidates("X")) == [
        Candidate("environment", "X in the process environment", ""),
        Candidate("environment", "X in near/.env:1", "near"),
        Candidate("environment", "X in far/.env:1", "far"),
    ]
    assert list(env().candidates("X")) == [Candidate("environment", "X")]


def test_the_variables_of_this_process_are_looked_at_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment([])
    monkeypatch.setenv("GEODE_A_TEST", "now")
    assert environment.find("GEODE_A_TEST") == Found("now", "the process environment")
