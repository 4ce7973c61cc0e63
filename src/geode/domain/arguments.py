"""Turning a model's argument text into an object: one function for every wire (spec section 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from returns.result import Failure, Result, Success

from geode.domain.content import ToolUseBlock
from geode.domain.json_value import clean_json, clean_text, dump_json

UNPARSED_KEY: Final = "unparsed_arguments"

_FENCE: Final = "```"
_OPENING = re.compile(r"```[A-Za-z]*\s*")
_AGAIN: Final = "send the whole object again"


def parse_arguments(value: object) -> Result[dict[str, Any], str]:
    """The argument object in `value`, or what the model is told.

    Empty text, null and absence mean `{}`; an object passes; text is decoded, once more if it
    decodes to text, and taken out of one code fence that encloses it wholly. Nothing is completed,
    and JSON that is not an object is an error. Control characters inside strings are accepted.
    """
    if value is None:
        return Success({})
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, Mapping):
        return _object(cast("Mapping[object, object]", value))
    return Failure(f"arguments must be a JSON object, got {_kind(value)}; {_AGAIN}")


def tool_use(id: str, name: str, arguments: object) -> ToolUseBlock:
    """A call as the adapters make it: parsed where it can be, the original text kept where not."""
    parsed = parse_arguments(arguments)
    ok = parsed.value_or(None)
    if ok is not None:
        return ToolUseBlock(clean_text(id), clean_text(name), ok)
    return ToolUseBlock(clean_text(id), clean_text(name), {}, clean_text(_as_text(arguments)))


def argument_error(call: ToolUseBlock) -> str | None:
    """Why the arguments of `call` are no object, or None if they are one."""
    if call.unparsed is None:
        return None
    return parse_arguments(call.unparsed).swap().value_or(f"arguments must be a JSON object; {_AGAIN}")


def sent_input(call: ToolUseBlock) -> Mapping[str, Any]:
    """The object that stands for the arguments on any wire: broken text goes out under one key."""
    return call.input if call.unparsed is None else {UNPARSED_KEY: call.unparsed}


def sent_text(call: ToolUseBlock) -> str:
    """`sent_input` as JSON text."""
    return dump_json(sent_input(call))


def _as_text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"<{_kind(arguments)} that cannot be written as JSON>"


def _parse_text(given: str) -> Result[dict[str, Any], str]:
    text = _unfenced(given)
    if not text.strip():
        return Success({})
    try:
        value = _loads(text)
        if isinstance(value, str):
            value = _inner(value)
    except json.JSONDecodeError as error:
        return Failure(f"arguments are not valid JSON (line {error.lineno}, column {error.colno}); {_AGAIN}")
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Failure(f"arguments are not valid JSON ({why}); {_AGAIN}")
    if value is None:
        return Success({})
    if isinstance(value, dict):
        return _object(cast("dict[object, object]", value))
    return Failure(f"arguments must be a JSON object, got {_kind(value)}; {_AGAIN}")


def _unfenced(text: str) -> str:
    """What the one code fence holds that encloses `text` wholly, or `text` itself."""
    opening, line_break, rest = text.strip().partition("\n")
    if line_break and rest.endswith(_FENCE) and _OPENING.fullmatch(opening):
        return rest.removesuffix(_FENCE)
    return text


def _inner(text: str) -> object:
    """The object that was encoded twice, or the text itself when it is only text."""
    try:
        value = _loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _loads(text: str) -> object:
    return json.loads(text, strict=False, parse_constant=_refuse)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _object(value: Mapping[object, object]) -> Result[dict[str, Any], str]:
    try:
        return Success(clean_json(value))
    except ValueError as error:
        return Failure(f"arguments cannot be read: {error}; {_AGAIN}")


def _kind(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "an array"
        case _:
            return type(value).__name__
