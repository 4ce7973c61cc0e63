"""Where a key is found, read from one text."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.key_sources import (
    FromCommand,
    FromFile,
    FromOAuth,
    FromVariable,
    GivenKey,
    KeySource,
    NoKey,
    key_problem,
    parse_key_source,
)

SPACED = "has white space, a line end or letters beyond ASCII in it, which no key has"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (None, NoKey()),
        ("env:LAB_KEY", FromVariable("LAB_KEY")),
        ("file:~/keys/lab", FromFile("~/keys/lab")),
        ("file:/my keys/lab:1", FromFile("/my keys/lab:1")),
        ("command:pass show lab/key", FromCommand("pass show lab/key")),
        ("oauth:~/.geode/credentials/codex.json", FromOAuth("~/.geode/credentials/codex.json")),
        ("sk-one", GivenKey("sk-one")),
        ("id:secret", GivenKey("id:secret")),
        ("environment", GivenKey("environment")),
        ("ENV:LAB", GivenKey("ENV:LAB")),
    ],
)
def test_a_source_is_named_by_its_first_word(text: str | None, source: KeySource) -> None:
    assert parse_key_source(text).unwrap() == source


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("env:", 'key="env:VARIABLE" names no variable'),
        ("env:A B", 'key="env:VARIABLE" names no variable'),
        ("env:A=B", 'key="env:VARIABLE" names no variable'),
        ("file:", 'key="file:PATH" names no file'),
        ("file:  ", 'key="file:PATH" names no file'),
        ("file:a\0b", 'key="file:PATH" names no file'),
        ("command:", 'key="command:PROGRAM ARGS" names no program'),
        ("oauth:\t", 'key="oauth:PATH" names no file'),
    ],
)
def test_a_source_that_names_nothing(text: str, problem: str) -> None:
    assert parse_key_source(text).failure() == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("sk-SECRET one", SPACED),
        ("sk-SECRET\n", SPACED),
        ("sk-SECRÉT", SPACED),
        (b"sk-SECRET", "must be text, got bytes"),
        (5, "must be text, got int"),
    ],
)
def test_what_is_no_key_is_said_without_showing_it(text: Any, problem: str) -> None:
    said = parse_key_source(text).failure()
    assert said == (
        f'key {problem}. Write one of "env:VARIABLE", "file:PATH", "command:PROGRAM ARGS", "oauth:PATH", '
        "the key itself, or None"
    )
    assert key_problem(text) == problem


def test_a_key_has_any_visible_sign() -> None:
    assert key_problem("!~" + "x" * 4000) == ""


def test_neither_a_key_nor_what_a_command_is_given_is_shown() -> None:
    assert "sk-one" not in repr(parse_key_source("sk-one"))
    assert "--token" not in repr(parse_key_source("command:vault --token sk-one"))
