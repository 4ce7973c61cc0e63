"""Tool choice: the neutral values and every spelling that is accepted (spec section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from returns.result import Failure, Result, Success


@dataclass(frozen=True, slots=True)
class Auto:
    """The model decides."""


@dataclass(frozen=True, slots=True)
class NoTools:
    """The model must not call; the tool list is still sent."""


@dataclass(frozen=True, slots=True)
class Required:
    """The model must call something."""


@dataclass(frozen=True, slots=True)
class Named:
    """The model must call this tool."""

    name: str


ToolChoice: TypeAlias = Auto | NoTools | Required | Named

ACCEPTED: Final = 'auto, none, required, {"name": …}'
_WORDS: Final[Mapping[str, ToolChoice]] = {"auto": Auto(), "none": NoTools(), "required": Required(), "any": Required()}


def parse_choice(value: object) -> Result[ToolChoice, str]:
    """The neutral choice for an accepted spelling, else why not. Nothing ever falls back to auto."""
    if isinstance(value, Auto | NoTools | Required):
        return Success(value)
    if isinstance(value, Named):
        return Success(value) if value.name.strip() else _unknown(value)
    if isinstance(value, str):
        return Success(_WORDS[value]) if value in _WORDS else _unknown(value)
    if isinstance(value, Mapping):
        return _parse_object(cast("Mapping[str, Any]", value))
    return _unknown(value)


def _parse_object(value: Mapping[str, Any]) -> Result[ToolChoice, str]:
    kind = value.get("type")
    if isinstance(kind, str) and kind in _WORDS:
        return Success(_WORDS[kind])
    if kind not in (None, "tool", "function"):
        return _unknown(value)
    inner = value.get("function")
    holder = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) and kind != "tool" else value
    name = holder.get("name")
    if isinstance(name, str) and name.strip():
        return Success(Named(name))
    return _unknown(value)


def _unknown(value: object) -> Result[ToolChoice, str]:
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return Failure(f"tool_choice {shown} is unknown. Accepted: {ACCEPTED}")


def choice_word(choice: ToolChoice) -> str:
    """The word under which adapters declare this kind of choice: auto, none, required or named."""
    match choice:
        case Auto():
            return "auto"
        case NoTools():
            return "none"
        case Required():
            return "required"
        case Named():
            return "named"
