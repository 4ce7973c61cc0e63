"""Where a key is found, as it is written in one text: `env:VARIABLE`, `file:PATH`, `command:PROGRAM ARGS`, `oauth:PATH`."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from returns.result import Failure, Result, Success

# What a header can carry, and any key that is known.
_KEY: Final = re.compile(r"[!-~]+")
_VARIABLE: Final = re.compile(r"[!-<>-~]+")
KEY_FORMS: Final = '"env:VARIABLE", "file:PATH", "command:PROGRAM ARGS", "oauth:PATH"'


@dataclass(frozen=True, slots=True)
class NoKey:
    """The server wants none."""


@dataclass(frozen=True, slots=True)
class GivenKey:
    """The key itself."""

    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FromVariable:
    """A variable, of the process or of a `.env` file."""

    variable: str


@dataclass(frozen=True, slots=True)
class FromFile:
    """A file that holds the key and nothing else."""

    path: str


@dataclass(frozen=True, slots=True)
class FromCommand:
    """A program that prints the key, with its arguments as a shell would be given them; no shell runs it.

    The arguments are not shown, for there may be a secret among them.
    """

    command: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FromOAuth:
    """A JSON file with an access token and what it is renewed with."""

    path: str


@runtime_checkable
class GivesSecrets(Protocol):
    """What can be seen of a credential from here; its obligations are those of `geode.ports.Credential`."""

    @property
    def source(self) -> str: ...

    def secret(self) -> Awaitable[object]: ...

    def refused(self, secret: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class OwnCredential:
    """A credential of the host's."""

    credential: GivesSecrets = field(repr=False)


KeySource: TypeAlias = NoKey | OwnCredential | GivenKey | FromVariable | FromFile | FromCommand | FromOAuth


def parse_key_source(text: object) -> Result[KeySource, str]:
    """The source that `text` names, or what is wrong with it, in words that never show a key.

    None is no key, and a credential of the host's is one. Whatever begins with none of the four words and a colon is the
    key itself.
    """
    if text is None:
        return Success(NoKey())
    if isinstance(text, GivesSecrets) and not isinstance(text, type):
        return Success(OwnCredential(text))
    if not isinstance(text, str):
        return _no_key(text)
    word, _, place = text.partition(":")
    match word:
        case "env":
            return Success(FromVariable(place)) if _VARIABLE.fullmatch(place) else _nothing("env:VARIABLE", "variable")
        case "file":
            return Success(FromFile(place)) if _is_path(place) else _nothing("file:PATH", "file")
        case "command":
            return Success(FromCommand(place)) if _is_path(place) else _nothing("command:PROGRAM ARGS", "program")
        case "oauth":
            return Success(FromOAuth(place)) if _is_path(place) else _nothing("oauth:PATH", "file")
        case _:
            return _no_key(text) if key_problem(text) else Success(GivenKey(text))


def key_problem(key: object) -> str:
    """What keeps `key` from being sent, in words that do not show it; "" if nothing does."""
    if not isinstance(key, str):
        return f"must be text, got {type(key).__name__}"
    if not key:
        return "is empty"
    return "" if _KEY.fullmatch(key) else "has white space, a line end or letters beyond ASCII in it, which no key has"


def _is_path(place: str) -> bool:
    return bool(place.strip()) and "\0" not in place


def _no_key(text: object) -> Result[KeySource, str]:
    return Failure(f"key {key_problem(text)}. Write one of {KEY_FORMS}, the key itself, or None")


def _nothing(form: str, what: str) -> Result[KeySource, str]:
    return Failure(f'key="{form}" names no {what}')
