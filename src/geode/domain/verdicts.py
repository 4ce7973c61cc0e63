"""What checking a call's arguments, or an answer, found; a fact of the input, so that replay needs no validator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Valid:
    """The tool exists and the arguments fit its schema; or the answer fits its own."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """The arguments, or the answer, do not fit; each error names the place by a JSON pointer."""

    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """No tool has this name; `closest` are names that look like it."""

    closest: tuple[str, ...]


Verdict: TypeAlias = Valid | Invalid | Unknown
AnswerVerdict: TypeAlias = Valid | Invalid
